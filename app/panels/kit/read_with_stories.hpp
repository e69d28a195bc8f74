#pragma once
/// The way out for a text that a model cannot read: the example that reads any word.

#include <optional>
#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

inline constexpr const char* kReadWithStories = "Read it with stories";
inline constexpr const char* kReadsAnyWord = "Opens the example that reads any word, with this text.";

/// The text that is not read; none if that example would not help.
std::optional<std::string> text_for_stories(const PanelContext& context);
/// Opens the example with the text.
void read_with_stories(PanelContext& context, std::string text);

}  // namespace attn::app
