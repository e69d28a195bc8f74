#pragma once
/// Rotary positions: turning recorded queries and keys by them, and finding them in a recording.

#include <optional>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

/// rows [H,P,D], position p of them turned as position `first` + p.
Estimate rotate(const Estimate& rows, std::int64_t positions, std::int64_t size, const Rotation& rotation, std::int64_t first,
                const Rounding& rounding);

/// What the recorded tensors before and after the rotation (q_proj and q, or q and q_rotated, and the same of k, else of v) show. Nothing
/// where they are the same, are not both recorded, or differ in another way. Tries the file's base, or the usual 10000, 500000 and
/// 1000000; the positions are found, too.
std::optional<Rotation> visible_rotation(const Sequence& sequence, const Rounding& rounding);

/// Whether q and k were turned by the same angles, token by token, whatever the frequencies are: the rotation of a base that is not
/// known. False where nothing was turned.
bool turned_alike(const Sequence& sequence, const Rounding& rounding);

/// Rotations by which q k^T, not turned in the recording, may come to what scores, scaled, masked or weights show; judged by a few rows,
/// the likeliest first. First those that place q and k as they should be, then those that shift them.
std::vector<Rotation> hidden_rotations(const Sequence& sequence);

/// The rotations to try of values alone, which nothing else betrays.
std::vector<Rotation> usual_rotations(const Sequence& sequence);

/// q [H,T,D] and k [H,S,D] as they enter the scores. Empty where they are not recorded.
std::vector<double> final_queries(const Sequence& sequence);
std::vector<double> final_keys(const Sequence& sequence);

}  // namespace attn::doctor
