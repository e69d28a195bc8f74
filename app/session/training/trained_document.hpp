#pragma once
/// Converts between documents with initial parameters and documents that show a training run.

#include <cstdint>
#include <optional>
#include <string>

#include "app/session/document/document.hpp"
#include "app/session/training/training_report.hpp"

namespace attn::app {

/// The held-out sequence used to watch a run.
struct Probe {
    std::string text, source;  ///< the source is "" for models without an encoder
    bool operator==(const Probe&) const = default;
};
Probe probe_of(const RunStatus& run);

/// The document for a moment of the run (none: the newest). It takes model, vocabulary and masks from the run. The texts become the run's
/// probe unless the user has set other ones, different from `last_probe`, for a run with the same vocabulary, context and architecture.
Document document_of_run(Document document, const RunStatus& run, std::optional<std::int64_t> step, const Probe& last_probe);

/// The same model with initial parameters: those of its run before the first step. Ids stay the same; new symbols in the texts extend the
/// vocabulary.
Document untrained(Document document);

}  // namespace attn::app
