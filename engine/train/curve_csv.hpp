#pragma once
/// The curves of a run as comma-separated tables that spreadsheets and notebooks read, and back without losing a bit.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/curve.hpp"

namespace attn {

struct Curves {
    std::vector<LossPoint> losses;  ///< steps ascend, as in the other list
    std::vector<ValidationPoint> validations;
};

/// step,loss,accuracy,gradient_norm,learning_rate,seconds,tokens,val_loss,val_accuracy: a row a step, with empty cells where there is no
/// training step (step 0) or no evaluation. Where an evaluation tells accuracy by length, a column val_accuracy_N follows for every
/// length N, ascending. Every number is written so that it reads back as the same bits.
std::string curves_csv(std::span<const LossPoint> losses, std::span<const ValidationPoint> validations);
/// Strict: throws FileError naming `source` and the line for another header, a cell that is no number, or steps that do not ascend.
Curves curves_from_csv(std::string_view text, std::string_view source);

/// step,stage,head,previous_token,first_token,same_token,induction,entropy,distance,rows,induction_rows: a row a head and evaluation,
/// `stage` being a tensor name such as layers.0.attention.weights.
std::string heads_csv(std::span<const HeadPoint> heads);
std::vector<HeadPoint> heads_from_csv(std::string_view text, std::string_view source);

/// What a table may be long.
inline constexpr std::uint64_t kMaxCsvBytes = std::uint64_t{1} << 30;

}  // namespace attn
