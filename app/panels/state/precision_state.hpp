#pragma once
/// The state of the Precision view, which compares a model at two precisions.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace attn::app {

class OpenedModel;
struct WeightsBeside;

enum class ErrorColumn : std::uint8_t { Name, Relative, Rms, Largest };

struct PrecisionView {
    std::string other;          ///< the folder or file to compare with; "" for none
    std::uint64_t opening = 0;  ///< incremented with every choice
    bool stopped = false;       ///< cancelled by the user: do not compare until requested again
    bool kinds = false;         ///< merge the same parameters of all layers
    std::string filter;         ///< filters the list by parts of names
    ErrorColumn sort = ErrorColumn::Relative;
    bool upwards = false;                                       ///< ascending order
    int line_by_key = 0;                                        ///< lines to move down in the table in this frame
    std::string parameter;                                      ///< selected; "": the one with the largest relative error
    std::optional<std::pair<std::int64_t, std::int64_t>> cell;  ///< row and column of the selected number
    /// Set when B is opened in place of A, which is then pinned; keeps their roles as A and B.
    std::weak_ptr<const OpenedModel> opened_a, opened_b;
    /// The last comparison and its model, so that it need not be repeated after the user has looked at something else. Forgotten when
    /// another model is opened.
    std::shared_ptr<const WeightsBeside> last;
    std::shared_ptr<const OpenedModel> last_of;
};

}  // namespace attn::app
