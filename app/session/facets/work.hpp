#pragma once
/// Computing facets: what a job may use, on the thread of its lane.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/computation.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/values/facet.hpp"
#include "app/session/values/other_tokens.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::app {

/// How many of the available threads to use for numbers of this size.
int threads_for(double mib, int available);

/// What a lane keeps from one job to the next.
struct KeptByLane {
    const int threads;  ///< the number of hardware threads available
    KeptTokenizer tokenizer{};
    std::shared_ptr<const Parameters<float>> drawn{};         ///< the last that were initialised at random
    std::shared_ptr<const ModelTokenizer> other_tokenizer{};  ///< the last that facet::OtherTokens read, for `read_for`
    std::optional<facet::OtherTokens> read_for{};

    void use_threads_for(double mib) const;
};

struct Work {
    const Computation& engine;
    KeptByLane& kept;
    /// `so_far`: the partial value; null if a partial value makes no sense.
    std::function<void(std::size_t done, std::size_t total, std::shared_ptr<const void> so_far)> progress;
    double room_mib = 0;    ///< what is left of the memory budget
    double budget_mib = 0;  ///< the whole of it
    std::stop_token stop;

    /// Throws DocumentError if a job needs more memory than is left.
    void expect_room(double mib) const;
};

/// Carries out the job of a request. Throws what the job throws, and FileError if the file of a model that it reads became shorter, so that
/// what was computed from it is worthless.
FacetValue carried_out(const Request& request, const Asked& asked, const Work& work);

/// For values that tell whether they are the same computation.
std::uint64_t next_serial();

}  // namespace attn::app
