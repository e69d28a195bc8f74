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

/// That q and k are longer after the rotation, one sentence.
std::string factor_words(const Rotation& rotation);

/// The rotation between the recorded tensors before and after it (q_proj and q, or q and q_rotated, and the same for k, else v). nullopt if
/// they are equal, not both recorded, or differ in another way. Tries what the file says, or both pairings, every even width, the usual
/// ones first, a common factor of all lengths, and the bases 10000, 500000 and 1000000, and determines the positions.
std::optional<Rotation> visible_rotation(const Sequence& sequence, const Rounding& rounding);

/// A rotation that was meant, and what went wrong with it.
struct MistakenRotation {
    Rotation rotation;
    std::string words;  ///< one sentence; "" if nothing is wrong yet in what is recorded
};
/// For q and k that differ in how, or whether, they were rotated. nullopt if they agree, or if either is not recorded before and after, or
/// was changed in another way.
std::optional<MistakenRotation> unequal_rotations(const Sequence& sequence, const Rounding& rounding);

/// For positions or angles that were rounded to 16 bits; nullopt if they were not.
std::optional<MistakenRotation> coarse_rotation(const Sequence& sequence, const Rounding& rounding);

/// The pairing and the factor with which q and k were rotated by the same angles, position by position, with whatever frequencies: a
/// rotation with an unknown base. nullopt if they were not, or if nothing was rotated.
std::optional<Rotation> shared_rotation(const Sequence& sequence, const Rounding& rounding);

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
