#pragma once
/// Rotary positions (RoPE): applies them to recorded queries and keys, and detects them in recordings.

#include <optional>
#include <string>

#include "engine/doctor/estimate.hpp"

namespace attn::doctor {

/// rows [H,P,D] with row p rotated as position first + p.
Estimate rotate(const Estimate& rows, std::int64_t positions, std::int64_t size, const Rotation& rotation, std::int64_t first,
                const Rounding& rounding);

/// "half-split over 16 of 64 dimensions with base 10000".
std::string rotation_words(const Rotation& rotation, std::int64_t size);

/// The rotation between the recorded tensors before and after it (q_proj and q, or q and q_rotated, and the same for k, else v). nullopt if
/// they are equal, not both recorded, or differ in another way. Tries what the file says, or both pairings, every even width, the usual
/// ones first, and the bases 10000, 500000 and 1000000, and determines the positions.
std::optional<Rotation> visible_rotation(const Sequence& sequence, const Rounding& rounding);

/// A rotation of q and k that differ in how, or whether, they were rotated.
struct UnequalRotations {
    Rotation rotation;  ///< that of the tensor that is taken to be right
    std::string words;  ///< one sentence; "" if the other was not recorded after its rotation, so that nothing is wrong yet
};
/// nullopt if they agree, or if either is not recorded before and after, or was changed in another way.
std::optional<UnequalRotations> unequal_rotations(const Sequence& sequence, const Rounding& rounding);

/// Whether q and k were rotated by the same angles, position by position, with whatever frequencies: a rotation with an unknown base. False
/// if nothing was rotated.
bool turned_alike(const Sequence& sequence, const Rounding& rounding);

/// The rotation whose negative angles q and k are rotated by; nullopt if they are not.
std::optional<Rotation> backward_rotation(const Sequence& sequence, const Rounding& rounding);

/// Rotations under which q kᵀ, from unrotated recorded q and k, approximates the recorded scores, scaled, masked or weights; judged by a
/// few rows, best first. Rotations with correct positions, even if the scores are soft-capped or the width is unusual, come before those
/// that shift q against k.
std::vector<Rotation> hidden_rotations(const Sequence& sequence);

/// Rotations to try for values, which nothing else reveals.
std::vector<Rotation> usual_rotations(const Sequence& sequence);

/// q [H,T,D] and k [H,S,D] as the scores read them. Empty if not recorded.
std::vector<double> final_queries(const Sequence& sequence);
std::vector<double> final_keys(const Sequence& sequence);

}  // namespace attn::doctor
