#pragma once
/// Which rotary positions: told by the queries and keys before and after.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/recording/numbers.hpp"

namespace attn::recording {

struct RotationForm {
    bool neighbours = false;  ///< number 2i is paired with 2i + 1, not i with i + size / 2 as in a model of ours
    double base = 10000;
    std::int64_t size = 0;  ///< how many numbers of a head are rotated, from the first
};

/// The rotation that all queries and keys of a model have: pair i turns by base^(-2i/size) from a position to the next, the first not at
/// all (Su et al., 2021).
class KnownRotation {
public:
    /// Whether that is what happened to a head's numbers [.., positions, D], and the same as before.
    bool keep(const Numbers& before, const Numbers& after);
    const std::optional<RotationForm>& form() const { return form_; }

private:
    std::optional<RotationForm> form_;
};

/// By how many radians the first pair, which turns by one from a position to the next, is turned at a position; nothing if the numbers of
/// a head are not turned in this form.
std::optional<double> turn_at(std::int64_t position, const Numbers& before, const Numbers& after, const RotationForm& form);

/// Where each number of a head that pairs neighbours is in one that pairs halves.
std::vector<std::int64_t> halves_of_neighbours(const RotationForm& form, std::int64_t head_size);

}  // namespace attn::recording
