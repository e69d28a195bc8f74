#pragma once
/// What each head is worth: plain data.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/stage.hpp"

namespace attn {

/// What is measured: the loss of predicting the next token of the shown texts, or how likely one token is at one position.
struct KnockOutQuestion {
    struct Place {
        std::int64_t sequence = 0, position = 0;
        std::int32_t token = 0;
        bool operator==(const Place&) const = default;
    };
    std::optional<Place> place;  ///< none: the loss
    /// [B,T]: 1 where the next token counts, as far as there is one; empty: everywhere. For texts whose beginnings nobody can guess.
    std::vector<std::uint8_t> counted{};
    bool operator==(const KnockOutQuestion&) const = default;
};

/// A head and the measure of the model in which its context is zero.
struct HeadWorth {
    StageId context;  ///< the context or cross_context stage that the head is a part of
    std::int64_t head = 0;
    double without = 0;
    bool measured = false;  ///< while the heads are being measured: else `without` means nothing yet
    bool operator==(const HeadWorth&) const = default;
};

struct KnockOut {
    double with_all = 0;           ///< the measure with every head
    std::vector<HeadWorth> heads;  ///< in the order of the plan
};

}  // namespace attn
