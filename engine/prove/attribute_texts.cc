#include "engine/prove/attribute_texts.h"

namespace qrewrite {
namespace {

struct Texts {
  std::string_view attribute;
  std::vector<std::string_view> texts;
};

const std::vector<Texts>& All() {
  static const std::vector<Texts> all = {
      {"auto_pad", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}},
      // of Resize and Upsample, of Pad, of sampled grids, of DepthToSpace, of RoiAlign
      {"mode",
       {"nearest", "linear", "cubic", "constant", "reflect", "edge", "wrap", "bilinear", "bicubic",
        "DCR", "CRD", "avg", "max"}},
      {"coordinate_transformation_mode",
       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
        "tf_half_pixel_for_nn", "tf_crop_and_resize", "output_half_pixel"}},
      {"nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
      {"padding_mode", {"zeros", "border", "reflection"}},
      {"direction", {"forward", "reverse", "bidirectional", "LEFT", "RIGHT"}},
      {"reduction", {"none", "add", "mul", "max", "min", "mean", "sum"}},
      {"approximate", {"none", "tanh"}},
      {"keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}},
  };
  return all;
}

}  // namespace

std::vector<std::string_view> TextsOf(std::string_view attribute) {
  for (const Texts& texts : All()) {
    if (texts.attribute == attribute) return texts.texts;
  }
  return {};
}

}  // namespace qrewrite
