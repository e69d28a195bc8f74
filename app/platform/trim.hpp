#pragma once
/// Cuts the empty margins off a picture.

#include "app/platform/image.hpp"

namespace attn::app {

/// The part of the picture that is not all of the colour of its upper left corner, with at most `margin` pixels around it; the whole
/// picture if there is nothing else.
Image trimmed(const Image& image, int margin);

/// Around what is left of an exported picture, in pixels.
inline constexpr int kPictureMargin = 8;

}  // namespace attn::app
