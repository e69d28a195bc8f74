#pragma once
/// The importance of each head, measured by removing it; plain data.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/stage.hpp"

namespace attn {

/// What to measure: the loss of the texts shown (shown_targets), or the probability of one token at one position.
struct KnockOutQuestion {
    struct Place {
        std::int64_t sequence = 0, position = 0;
        std::int32_t token = 0;
        bool operator==(const Place&) const = default;
    };
    std::optional<Place> place;  ///< none: the loss
    /// [B,T]: 1 where the prediction counts; empty: everywhere. For texts whose beginnings are unpredictable.
    std::vector<std::uint8_t> counted{};
    bool operator==(const KnockOutQuestion&) const = default;
};

/// A head, and the measure of the model with that head's context set to zero.
struct HeadWorth {
    StageId context;  ///< the context or cross_context stage that the head is a part of
    std::int64_t head = 0;
    double without = 0;
    bool measured = false;  ///< false: not measured yet, `without` is meaningless
    bool operator==(const HeadWorth&) const = default;
};

struct KnockOut {
    double with_all = 0;           ///< the measure with every head
    std::vector<HeadWorth> heads;  ///< in the order of the plan
};

}  // namespace attn
