#pragma once
/// A run's curves as lossless CSV tables for spreadsheets and notebooks.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/curve.hpp"

namespace attn {

struct Curves {
    std::vector<LossPoint> losses;  ///< by ascending step, like validations
    std::vector<ValidationPoint> validations;
};

/// step,loss,accuracy,gradient_norm,learning_rate,seconds,tokens,val_loss,val_accuracy: one row per step; cells are empty where there was
/// no training step (step 0) or no evaluation. If accuracy is reported by length, a column val_accuracy_N follows for each length N,
/// ascending. Every number reads back with the same bits.
std::string curves_csv(std::span<const LossPoint> losses, std::span<const ValidationPoint> validations);
/// Throws FileError naming `source` and the line for a different header, a cell that is not a number, or steps that do not ascend.
Curves curves_from_csv(std::string_view text, std::string_view source);

/// step,stage,head,previous_token,first_token,same_token,induction,entropy,distance,rows,induction_rows: one row per head and evaluation;
/// `stage` is a tensor name such as layers.0.attention.weights.
std::string heads_csv(std::span<const HeadPoint> heads);
std::vector<HeadPoint> heads_from_csv(std::string_view text, std::string_view source);

/// Maximum size of a table.
inline constexpr std::uint64_t kMaxCsvBytes = std::uint64_t{1} << 30;

}  // namespace attn
