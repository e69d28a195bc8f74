#pragma once
/// Everything a user can do to the document, as plain values. Panels emit them; the session applies them.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "app/session/document.hpp"

namespace attn::app {

namespace command {
struct SetTexts {
    std::vector<std::string> texts;
    std::vector<std::string> source_texts;  ///< only for an encoder-decoder
};
struct SetTokenizer {
    TokenizerKind kind;
};
struct SetConfig {
    Config config;
};
struct SetForward {
    ForwardSettings forward;
};
struct OpenPreset {
    std::string name;
};
struct OpenDocument {
    Document document;
};
struct Undo {};
struct Redo {};
}  // namespace command

/// `merge` joins the command with the one before it into one undo step when both carry the same non-empty name
/// (the drag of one slider, the typing of one word).
struct Command {
    std::variant<command::SetTexts, command::SetTokenizer, command::SetConfig, command::SetForward, command::OpenPreset,
                 command::OpenDocument, command::Undo, command::Redo>
        what;
    std::string merge;
};

/// What panels append to in one frame.
using CommandSink = std::vector<Command>;

}  // namespace attn::app
