#pragma once
/// What the Fill in view keeps from frame to frame.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/hidden_words.hpp"
#include "app/session/states/opened_model.hpp"

namespace attn::app {

struct FillInState {
    /// A word that was just hidden, to be selected once its position is computed.
    struct HiddenWord {
        std::string text;      ///< with the word hidden
        std::size_t mask = 0;  ///< which mask of the text it is, counted from 0
    };
    std::optional<HiddenWord> just_hidden;

    /// The words of a text, because finding them takes long with a model of many special tokens.
    struct Words {
        std::string text, mask;
        std::weak_ptr<const OpenedModel> model;  ///< whose special tokens they are
        std::vector<TextWord> found;
    };
    Words words;
};

}  // namespace attn::app
