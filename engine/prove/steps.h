// The steps that numbers are multiples of, behind a quantizer: what `lsb(n)` and units are counted in.
#pragma once

#include <vector>

namespace qrewrite {

inline constexpr double kLeastSteps = 16;        // that numbers on a grid span, and
inline constexpr double kNearStep = 1e-3;        // how near they are to it, in steps
inline constexpr double kLargestExact = 0x1p24;  // up to here a FLOAT holds every whole number

// The widest distance of neighbours among the numbers. One number alone shows no step: its last digits.
double WidestStep(std::vector<double> values);
// The step of numbers that a quantizer made: all are multiples of it, and there are many. 0: they are no such.
double StepOf(const std::vector<double>& numbers);
// The same of both sides together, which may differ in the last digits.
double GridOf(std::vector<double> numbers);

bool AreWhole(const std::vector<double>& values);
// Whole numbers that a FLOAT holds exactly.
bool AreExact(const std::vector<double>& values);

}  // namespace qrewrite
