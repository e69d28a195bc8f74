#pragma once
/// How facets are computed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "app/session/facets/computation.hpp"
#include "app/session/facets/results.hpp"
#include "app/session/facets/snapshot.hpp"
#include "app/session/states/kept_tokenizer.hpp"

namespace attn::app {

/// What has to be computed before, as far as the results tell.
std::vector<Request> needs_of(const Request& request, const Results& results);

/// It needs nothing but its own state and takes a moment: a state is not shown before those of its facets that are shown.
bool comes_with_trace(const Request& request);

/// What the computing of one facet is given.
struct FacetWork {
    const Computation& engine;
    const Results& results;  ///< with everything that needs_of() names
    /// `so_far`: the part of the value that is known by then; null where a part means nothing.
    std::function<void(std::size_t done, std::size_t total, std::shared_ptr<const void> so_far)> progress;
    double room_mib = 0;  ///< that the memory budget leaves
    std::stop_token stop;
};

/// A value, and what it takes.
struct FacetValue {
    std::shared_ptr<const void> value;
    double mib = 0;
};

/// How many threads suit numbers of this size, of those that there are.
int threads_for(double mib, int available);

/// Computes facets for one thread; keeps the parameters that it drew last, and the tokenizer.
class FacetMaker {
public:
    /// `threads`: that the machine has for us.
    explicit FacetMaker(int threads) : threads_(threads) {}
    /// Throws DocumentError and Error saying why there is no such facet, Cancelled once a stop is requested.
    FacetValue make(const Request& request, const FacetWork& work);

private:
    struct Make;
    void use_threads_for(double mib) const;
    std::shared_ptr<const Parameters<float>> parameters_of(const State& state, const Config& config, const Computation& engine);

    /// Kept from one text to the next.
    std::shared_ptr<const ModelTokenizer> tokenizer_of(const facet::OtherTokens& facet);

    const int threads_;
    std::shared_ptr<const Parameters<float>> drawn_;
    KeptTokenizer tokenizer_;
    std::shared_ptr<const ModelTokenizer> other_tokenizer_;  ///< that of this file, as it was opened
    std::string other_file_;
    std::uint64_t other_opening_ = 0;
};

}  // namespace attn::app
