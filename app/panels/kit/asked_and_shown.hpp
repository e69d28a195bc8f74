#pragma once
/// Where what the document asks for is not what the window shows.

#include <cstddef>
#include <optional>
#include <string>

#include "app/panels/kit/panel_context.hpp"
#include "app/session/states/setup_parts.hpp"

namespace attn::app {

/// The parts of the document that are not shown: they are being computed, or cannot be. None before anything is shown.
SetupParts parts_not_shown(const PanelContext& context);
/// Those of them that cannot be computed.
SetupParts parts_refused(const PanelContext& context);
/// Whether the shown text is the document's, up to tokens that are being written.
bool shows_asked_text(const PanelContext& context);

/// When the picture of numbers from before the last change fades; none while it is up to date.
std::optional<double> fades_at(const ViewState& view);
/// Also the picture of the text before one that cannot be read.
bool fades_now(const PanelContext& context);

/// A text of the document that cannot be read.
struct UnreadText {
    std::size_t index = 0;
    bool source = false;  ///< the encoder's
};
/// The one to mend first: `preferred` if it is among them.
std::optional<UnreadText> unread_text(const PanelContext& context, UnreadText preferred);

/// The problem of the document, and what is shown instead.
std::string problem_words(const PanelContext& context);

}  // namespace attn::app
