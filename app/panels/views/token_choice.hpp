#pragma once
/// Choosing a token of the vocabulary.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The token of the vocabulary that `token` was when it was last seen as `was`, which is brought up to date: in another vocabulary the one
/// with the same text, if it has one.
std::optional<std::int32_t> followed_token(const std::vector<std::string>& vocabulary, std::optional<std::int32_t> token,
                                           std::optional<NamedToken>& was);

/// A button that shows a token and opens a list: of the likely ones or, once something is typed there, of those that contain it. Returns
/// the token that was chosen in this frame.
std::optional<std::int32_t> choose_token(const PanelContext& context, const char* id, std::int32_t shown,
                                         std::span<const std::int32_t> likely, TokenSearch& search, float width, std::string_view tooltip);

}  // namespace attn::app
