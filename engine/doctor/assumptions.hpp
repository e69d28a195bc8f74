#pragma once
/// Assumptions about what a dump does not record: if the numbers follow from one, or from one and a known mistake, the judgement under it
/// replaces the one so far. Each function returns whether it has found what explains everything.

#include <optional>
#include <string>

#include "engine/doctor/trial.hpp"

namespace attn::doctor {

/// What is known while something is assumed.
Known assuming(const Trial& trial);
/// Accepts a judgement under an assumption if it explains everything; `warning` says which, or is empty.
bool adopt(Trial& trial, Judgement again, const std::string& warning);
/// Small enough to test two unusual assumptions together.
bool is_small(const Trial& trial);

/// The weights were saved with queries as columns, although everything was computed from the right ones.
bool find_transposed_weights(Trial& trial);
/// q and k were swapped in combination with a rotation not in the file.
bool find_swap(Trial& trial);
/// GPUs may truncate float32 factors to 11 bits (TF32); then most numbers are slightly off and none is far off.
bool allow_short_products(Trial& trial);

/// A rotation that the file states, but no tensor shows, leaves nothing wrong. What is stated comes before any suspect.
bool find_stated_rotation(Trial& trial);
/// q and k were rotated before their product, although no recorded tensor shows it.
bool find_hidden_rotation(Trial& trial);
/// A rotation explains the numbers that differs from the file's in one thing.
bool find_other_rotation(Trial& trial);
/// q and k are rotated the wrong way round, which a rotation with unknown frequencies would not show.
bool find_backward_rotation(Trial& trial);

/// The soft cap, other than the file's, that the first differing stage shows, if it shows one.
std::optional<double> seen_cap(Trial& trial);
/// A soft cap shows in the numbers that the file does not state.
bool find_softcap(Trial& trial);

/// The file's position bias was added at another stage than the masked scores, which leaves nothing wrong.
bool find_stated_bias(Trial& trial);
/// A position bias shows in the numbers that is not in the file, or the file's does at another stage.
bool find_position_bias(Trial& trial);
/// The same if a mistake explains 16-bit numbers within their rounding, but a bias explains them clearly better.
bool find_closer_bias(Trial& trial);

/// Whether so many numbers differ that nothing explains them by chance: one of many ways to explain one or two numbers may.
bool differs_in_many_cells(const Trial& trial);

}  // namespace attn::doctor
