#pragma once
/// Names what differs between two versions of a document.

#include <string_view>

#include "app/session/document/document.hpp"

namespace attn::app {

/// Such as "the text" or "an edit", to be put after "Undo". If several parts differ, the one that includes or caused the others.
std::string_view changed_part(const Document& before, const Document& after);

}  // namespace attn::app
