#pragma once
/// Computes facets.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/session/facets/computation.hpp"
#include "app/session/facets/results.hpp"
#include "app/session/facets/snapshot.hpp"
#include "app/session/states/kept_tokenizer.hpp"

namespace attn::app {

/// Inputs for computing one facet.
struct FacetWork {
    const Computation& engine;
    const Results& results;  ///< contain everything that needs_of() names (facet_needs.hpp)
    /// `so_far`: the partial value; null if a partial value makes no sense.
    std::function<void(std::size_t done, std::size_t total, std::shared_ptr<const void> so_far)> progress;
    double room_mib = 0;    ///< what is left of the memory budget
    double budget_mib = 0;  ///< the whole of it
    std::stop_token stop;
};

/// A value and the memory it takes.
struct FacetValue {
    std::shared_ptr<const void> value;
    double mib = 0;
};

/// How many of the available threads to use for numbers of this size.
int threads_for(double mib, int available);

/// Computes facets on one thread. Caches the last randomly initialised parameters and the last tokenizers.
class FacetMaker {
public:
    /// `threads`: the number of hardware threads available.
    explicit FacetMaker(int threads) : threads_(threads) {}
    /// Throws DocumentError and Error with the reason if the facet does not exist, Cancelled once a stop is requested.
    FacetValue make(const Request& request, const FacetWork& work);

private:
    struct Make;
    void use_threads_for(double mib) const;
    std::shared_ptr<const Parameters<float>> parameters_of(const State& state, const Config& config, const Computation& engine);

    /// Cached, because the text changes more often than the file.
    std::shared_ptr<const ModelTokenizer> tokenizer_of(const facet::OtherTokens& facet);

    const int threads_;
    std::shared_ptr<const Parameters<float>> drawn_;
    KeptTokenizer tokenizer_;
    std::shared_ptr<const ModelTokenizer> other_tokenizer_;  ///< of other_file_ at other_opening_
    std::string other_file_;
    std::uint64_t other_opening_ = 0;
};

}  // namespace attn::app
