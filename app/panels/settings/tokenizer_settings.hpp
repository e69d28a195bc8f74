#pragma once
/// The settings' section on the tokenizer of a published model, or on the one trained here.

#include <string>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// Whether the centre shows how texts become pieces.
bool shows_token_path(const PanelContext& context);
/// The kind of the tokenizer; "" if it is not known yet.
std::string tokenizer_value(const PanelContext& context);
/// What is known about the tokenizer and, where the centre shows both, about the one beside it.
void draw_tokenizer_facts(PanelContext& context);

}  // namespace attn::app
