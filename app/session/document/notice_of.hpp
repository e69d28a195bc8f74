#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::app {

/// What an error is about: its notice goes once that has changed.
enum class NoticeOf : std::uint8_t { File, Document, View, Autosave };
inline constexpr std::size_t kNoticeKinds = 4;

}  // namespace attn::app
