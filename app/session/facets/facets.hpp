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

/// What must be computed first, as far as the results so far tell.
std::vector<Request> needs_of(const Request& request, const Results& results);

/// The stage whose part is all that a facet reads of an outline, so that facet::Beginning can suffice; none if it reads more.
std::optional<StageId> looks_at(const Facet& facet);

/// Whether a facet is quick and needs nothing but its own state. A state is only shown once all its requested facets of this kind are
/// ready.
bool comes_with_trace(const Request& request);

/// Inputs for computing one facet.
struct FacetWork {
    const Computation& engine;
    const Results& results;  ///< contain everything that needs_of() names
    /// `so_far`: the partial value; null if a partial value makes no sense.
    std::function<void(std::size_t done, std::size_t total, std::shared_ptr<const void> so_far)> progress;
    double room_mib = 0;  ///< remaining memory budget
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
