#pragma once
/// What the person looks at of the same model at two precisions.

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
    std::string other;          ///< the folder or file that is compared with; "" for none
    std::uint64_t opening = 0;  ///< grows with every one that is chosen
    bool stopped = false;       ///< cancelled by hand: nothing is compared until it is asked for
    bool kinds = false;         ///< the same parameters of all layers together
    std::string filter;         ///< a part of the names that are listed
    ErrorColumn sort = ErrorColumn::Relative;
    bool upwards = false;                                       ///< names from the first, errors from the least
    std::string parameter;                                      ///< chosen; "": the worst by its relative error
    std::optional<std::pair<std::int64_t, std::int64_t>> cell;  ///< row and column of the chosen number
    /// Both, since the other one was opened in the place of the first, which then is pinned: they stay A and B.
    std::shared_ptr<const OpenedModel> opened_a, opened_b;
    /// What was compared last, and of which model: it is not compared again after a look at something else.
    std::shared_ptr<const WeightsBeside> last;
    std::shared_ptr<const OpenedModel> last_of;
};

}  // namespace attn::app
