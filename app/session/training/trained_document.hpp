#pragma once
/// From documents with freshly drawn parameters to those of a training run, and back.

#include <cstdint>
#include <optional>
#include <string>

#include "app/session/document/document.hpp"
#include "app/session/training/training_report.hpp"

namespace attn::app {

/// The held-out sequence with which a run is watched.
struct Probe {
    std::string text, source;  ///< the source is "" where the model reads none
    bool operator==(const Probe&) const = default;
};
Probe probe_of(const TrainingSnapshot& run);

/// The document of a moment of the run (none: its newest). Model, vocabulary and masks become the run's; the texts become its probe
/// unless the person has set others, different from `last_probe`, for a run of the same vocabulary, context and architecture.
Document document_of_run(Document document, const TrainingSnapshot& run, std::optional<std::int64_t> step, const Probe& last_probe);

/// The same model with freshly drawn parameters: those of its run before the first step. Ids stay, the vocabulary grows with the texts.
Document untrained(Document document);

}  // namespace attn::app
