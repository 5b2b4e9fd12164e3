// Sizes of the data that a promise is held at, if it is about data that quantizers were made for.
#pragma once

#include <cstddef>

namespace qrewrite {

// Factors of the data of a promise that is about such as quantizers were made for. Quantizers of four bits take data
// well, neither cut off nor a few steps of it, whose size is within a factor of three: sizes that are twice as large each
// time do not miss it.
inline constexpr double kSizesOfData[] = {
    1,        0.5, 2,         0.25, 4,         0.125, 8,         0.0625, 16,         1.0 / 32, 32,
    1.0 / 64, 64,  1.0 / 128, 128,  1.0 / 256, 256,   1.0 / 512, 512,    1.0 / 1024, 1024};

// Whether data makes many different numbers, beside the `most` that it makes at any size.
inline bool ShowsData(size_t distinct, size_t most) { return 8 * distinct >= most; }

}  // namespace qrewrite
