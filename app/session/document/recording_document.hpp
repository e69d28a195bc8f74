#pragma once
/// Documents that show a recording.

#include <cstdint>
#include <memory>
#include <optional>

#include "app/session/document/document.hpp"

namespace attn::app {

/// The newest step of a recording, or another one. Throws FileError if that cannot be read or has no attention that can be drawn.
Document document_of_recording(std::shared_ptr<const OpenedRecording> recording, std::optional<std::int64_t> step = {},
                               std::size_t group = 0);

/// The same for a document that shows one already: its edits go along to another step, but not to attentions of other sizes. What is
/// pinned stays. Throws like
/// document_of_recording().
Document moved_to(std::shared_ptr<const OpenedRecording> recording, std::optional<std::int64_t> step, std::size_t group,
                  const Document& before);

}  // namespace attn::app
