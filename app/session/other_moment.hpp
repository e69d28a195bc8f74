#pragma once
/// The shown document at another moment of its training run, computed beside it to be compared with.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "app/session/analyst.hpp"

namespace attn::app {

/// A second analyst, which follows whatever is set of the document but its moment. It starts with the first moment that is chosen. For one
/// thread (the UI's).
class OtherMoment {
public:
    OtherMoment(Computation computation, std::function<void()> wake);

    /// The moment's step; none: nothing is compared with any more.
    void choose(std::optional<std::int64_t> step);
    std::optional<std::int64_t> step() const { return step_; }
    /// Asks for the document with the model of the chosen moment, unless that is there or asked for already. `moment` gives the kept
    /// moment of `run` nearest to a step; empty when the document's model is none of that run.
    void keep_up(const std::shared_ptr<const Document>& document, std::uint64_t run, const std::function<Moment(std::int64_t)>& moment);
    /// Null when there is nothing to compare with.
    std::shared_ptr<const Snapshot> snapshot() const;
    /// Waits until all that was asked for is computed.
    void wait();

private:
    const Computation computation_;
    const std::function<void()> wake_;
    std::optional<std::int64_t> step_;
    std::shared_ptr<const Document> asked_;  // with the moment's step; null: nothing is asked for
    std::unique_ptr<Analyst> analyst_;       // null before the first moment
};

}  // namespace attn::app
