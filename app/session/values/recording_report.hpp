#pragma once
/// What the code of a recording shows: its attentions, and mistakes with their lines.

#include <string>
#include <vector>

#include "app/session/values/facet.hpp"
#include "engine/plan/stage.hpp"
#include "engine/recording/code_findings.hpp"
#include "engine/recording/follow.hpp"

namespace attn::app {

/// All texts are escaped.
struct RecordingReport {
    /// A stage that the graph names, without numbers.
    struct Missing {
        StageId id;
        std::string name, why;    ///< "scores", "not recorded"
        bool after_edit = false;  ///< it has numbers, which an edit made invalid
    };
    struct Attention {
        std::string name, source;  ///< "encoder.0.attn", "model.py:41"; "" if unknown
        std::vector<recording::CodeFinding> findings{};
        std::vector<recording::StageCheck> checks{};  ///< whether each stage follows from those before it
        std::vector<Missing> missing{};               ///< in the order of the code
    };
    std::vector<std::string> groups;                ///< all that there are, in words: "encoder.0.attn and 3 more, 8 heads"
    std::vector<Attention> attentions;              ///< of the shown group, in the order of the code
    std::string error;                              ///< that ended the code; "" if none
    std::vector<recording::CodeFinding> around;     ///< that belong to no single attention
    std::vector<recording::Unfollowed> unfollowed;  ///< in the shown attentions, and in the recording as a whole
};

namespace facet {

/// Of a state whose numbers were recorded.
struct RecordingReport {
    using Value = app::RecordingReport;
    static constexpr FacetInfo kInfo{.failed = "could not examine the recording: "};
    static Job<Value> make(const RecordingReport&, Ask& ask);
    bool operator==(const RecordingReport&) const = default;
};

}  // namespace facet
}  // namespace attn::app
