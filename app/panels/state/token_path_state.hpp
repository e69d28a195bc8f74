#pragma once
/// The state of the view of tokenization steps.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/panels/state/path_columns.hpp"

namespace attn::app {

struct OtherTokens;
struct TokenPath;

struct TokenPathState {
    bool table = false;                    ///< show the table of pieces instead
    std::optional<std::int64_t> selected;  ///< the token that the table last scrolled to
    /// Picked in the strip: a row of the path, or their number for the steps of a word. None: the pieces.
    std::optional<std::size_t> stage;
    std::optional<std::size_t> word;         ///< selected by click; none: that of the selected token
    std::optional<std::size_t> step;         ///< none: the last
    std::shared_ptr<const TokenPath> last;   ///< shown until a newer one is ready
    std::string other;                       ///< file of another tokenizer or model to compare with; "" for none
    std::uint64_t opening = 0;               ///< incremented with every choice
    bool of_other = false;                   ///< show the other tokenizer's stages and steps
    std::optional<std::size_t> other_piece;  ///< selected piece of the other tokenizer
    std::shared_ptr<const OtherTokens> last_other;
    /// What `columns` were measured for.
    struct Measured {
        const TokenPath *own = nullptr, *other = nullptr;
        bool of_other = false;
        std::vector<std::size_t> stages{};
        float room = 0, scale = 0;
        bool operator==(const Measured&) const = default;
    };
    Measured measured{};
    PathColumns columns{};
};

}  // namespace attn::app
