#pragma once
/// Facets: everything that can be computed from a state. Views request the facets they show; nothing else is computed.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/session/states/state.hpp"
#include "engine/explain/provenance.hpp"
#include "engine/generate/sampling.hpp"
#include "engine/plan/stage.hpp"
#include "engine/precision/weight_error.hpp"
#include "engine/trace/part_worth.hpp"
#include "engine/trace/reduced_map.hpp"

namespace attn {
template <class Scalar>
struct GradientTrace;
namespace reference {
struct Verification;
}
}  // namespace attn

namespace attn::app {

struct BegunPass;
struct ChangedSlice;
struct DoctorReport;
struct Explanation;
struct FoundTokens;
struct HeadRows;
struct LensReading;
struct NextWords;
struct OtherTokens;
struct NearTokens;
struct RolloutTerms;
struct Sample;
struct Snapshot;
struct StrongCells;
struct TensorStatistics;
struct TokenPath;
struct TotalsReading;
struct WeightNumbers;
struct WeightsBeside;

/// Which worker computes a facet. Two lanes, so that quick facets never queue behind slow ones.
enum class Lane : std::uint8_t { Prompt, Patient };
inline constexpr int kLanes = 2;

/// Static properties of a facet type. Its dependencies are in facet_needs.cpp, the function that computes it in facets.cpp.
struct FacetInfo {
    Lane lane = Lane::Patient;
    std::string_view failed{};  ///< prefix of error messages
    /// While a training run is followed, a patient facet is recomputed at most once per `pause`, and only after `share` times as long as
    /// the last computation took.
    std::chrono::milliseconds pause{1000};
    int share = 20;
    bool tensors = false;    ///< views keep pointers into its numbers
    bool gives_way = false;  ///< yields to every other facet of its lane
};

/// The halves in which a large layer is computed.
enum class LayerHalf : std::uint8_t { Attention, FeedForward };

namespace facet {

/// The forward pass with every stage recorded (an outline for large models), plus the names along its axes.
struct Trace {
    using Value = Snapshot;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    bool operator==(const Trace&) const = default;
};

/// The beginning of Trace for a large model: with the outline up to the part that contains `before`, which can then be looked at while the
/// layers behind are computed. For a small model, all of it.
struct Beginning {
    using Value = BegunPass;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    StageId before;
    bool operator==(const Beginning&) const = default;
};

/// One part of the model (see Plan::part_around), recomputed from an outline. If the trace is whole, the trace itself.
struct Inside {
    using Value = Snapshot;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    StageId first;  ///< first stage of the part
    /// Long texts only: keep just this attention map (named as in self-attention), the map it is computed from, and the weights. None: keep
    /// all maps.
    std::optional<Stage> map{};
    /// Keep the maps of this head only. None: all heads.
    std::optional<std::int64_t> head{};
    /// Keep only the stages before the layer's feed-forward network, or only those of the feed-forward network. None: both.
    std::optional<LayerHalf> half{};
    /// Long texts only: keep the maps of all heads reduced to this level (see ReducedMap). None: keep the full maps.
    std::optional<int> level{};
    /// With `map`: keep that map and no other stage.
    bool maps_alone = false;
    bool operator==(const Inside&) const = default;
};

/// How a slice is transformed before it is drawn; see attn::MapChange and ChangedSlice.
struct MapChange {
    bool without_first_key = false, norm_weighted = false;
    StateRef minus{};  ///< subtract this state's map; null: subtract nothing
    StageId minus_stage{};
    std::optional<std::int64_t> minus_head{};
    bool operator==(const MapChange&) const = default;
};

/// A region of an attention map of a long text, for one head or for all.
struct MapRegion {
    using Value = ReducedMap;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};  // cached by the view that draws it: see MatrixStore::region()
    StageId stage;
    attn::MapRegion region;
    std::optional<std::int64_t> head{};
    MapChange change{};
    bool operator==(const MapRegion&) const = default;
};

/// A slice of a stage, transformed before it is drawn, or the sums of its rows; for stages held in full (see MapRegion for the others).
struct ChangedSlice {
    using Value = app::ChangedSlice;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};  // cached by the view that draws it: see MatrixStore::with_slice()
    StageId stage;
    std::int64_t sequence = 0;
    std::int64_t head = 0;         ///< as stored, so that a key/value head counts once; negative: the mean over all heads
    std::optional<Inside> part{};  ///< the part that holds the stage; none: the whole trace
    MapChange change{};            ///< `minus_head`: negative for the mean; none: `head`
    std::int64_t minus_sequence = 0;
    std::optional<Inside> minus_part{};
    bool row_sums = false;  ///< the sums of the rows instead, [rows, 1]; without `change`
    bool operator==(const ChangedSlice&) const = default;
};

/// The strongest cells of some heads' maps, all of one stage that is held in full.
struct StrongCells {
    using Value = app::StrongCells;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StageId stage;
    std::int64_t sequence = 0;
    std::vector<std::int64_t> heads{};  ///< negative: the mean over all heads
    std::size_t most = 0;
    std::optional<Inside> part{};  ///< the part that holds the stage; none: the whole trace
    bool operator==(const StrongCells&) const = default;
};

/// One sequence of the attention accumulated over the layers 0 to `layer` (see AttentionTotals), or its difference from another state's;
/// for texts whose totals are held in full.
struct TotalsSlice {
    using Value = app::ChangedSlice;
    static constexpr FacetInfo kInfo{};  // patient like the totals; cached by the view that draws it: see MatrixStore::with_slice()
    struct Place {
        Stack stack = Stack::Main;
        std::size_t layer = 0;
        std::int64_t sequence = 0;
        bool operator==(const Place&) const = default;
    };
    bool rollout = false;  ///< else the mean
    Place at{};
    StateRef minus{};  ///< subtract this state's; null: subtract nothing
    Place minus_at{};
    bool operator==(const TotalsSlice&) const = default;
};

/// The arithmetic of one cell of an attention rollout, for texts whose totals are held in full.
struct RolloutTerms {
    using Value = app::RolloutTerms;
    static constexpr FacetInfo kInfo{};  // patient like the totals
    TotalsSlice::Place at{};
    std::int64_t query = 0, key = 0;
    bool operator==(const RolloutTerms&) const = default;
};

/// What each layer would predict if it were the last one. Read from the whole trace.
struct Lens {
    using Value = app::LensReading;
    static constexpr FacetInfo kInfo{.tensors = true};
    bool operator==(const Lens&) const = default;
};

/// Attention accumulated over all layers. Read from the whole trace.
struct Totals {
    using Value = app::TotalsReading;
    static constexpr FacetInfo kInfo{.tensors = true};
    bool operator==(const Totals&) const = default;
};

/// Gradients of the next-token loss with respect to every number.
struct Gradients {
    using Value = GradientTrace<float>;
    static constexpr FacetInfo kInfo{.tensors = true};
    bool operator==(const Gradients&) const = default;
};

/// The comparison with the reference implementation: of the whole trace, or of one part of an outline, given that part's inputs.
struct Verification {
    using Value = reference::Verification;
    static constexpr FacetInfo kInfo{.failed = "could not check the numbers: ", .gives_way = true};
    std::optional<StageId> part{};  ///< first stage of the part
    bool operator==(const Verification&) const = default;
};

struct Doctor {
    using Value = DoctorReport;
    static constexpr FacetInfo kInfo{.failed = "could not examine the numbers: "};
    bool operator==(const Doctor&) const = default;
};

/// A continuation of the first sequence; causal models with an output head only.
struct Sample {
    using Value = app::Sample;
    static constexpr FacetInfo kInfo{.pause = std::chrono::milliseconds(250), .share = 8};
    SamplingSettings sampling;
    bool operator==(const Sample&) const = default;
};

/// The candidates for the token after `position`, or in an encoder for the token there, and how the sampler treats them. The sampler's
/// seed and number of tokens are ignored.
struct NextWords {
    using Value = app::NextWords;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    std::int64_t sequence = 0;
    SamplingSettings sampling{};
    std::optional<std::int64_t> position{};  ///< none: after the whole sequence, not for encoders
    bool operator==(const NextWords&) const = default;
};

/// The attention row of every head in every layer for one position of one sequence.
struct HeadRows {
    using Value = app::HeadRows;
    static constexpr FacetInfo kInfo{.failed = "could not compute where the heads look: "};
    std::int64_t sequence = 0, position = 0;
    bool operator==(const HeadRows&) const = default;
};

/// How much each head contributes, measured by knocking it out.
struct KnockOut {
    using Value = attn::KnockOut;
    static constexpr FacetInfo kInfo{.share = 2};
    KnockOutQuestion question;
    bool operator==(const KnockOut&) const = default;
};

/// Whether another state has exactly the same numbers.
struct SameNumbers {
    using Value = bool;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StateRef other;
    bool operator==(const SameNumbers&) const = default;
};

/// The first stage, in order of computation, whose numbers differ from those of another state; none if all are the same. For whole traces.
struct FirstDifference {
    using Value = std::optional<StageId>;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StateRef other;
    bool operator==(const FirstDifference&) const = default;
};

/// The arithmetic behind one cell.
struct Explanation {
    using Value = app::Explanation;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    CellRef cell;
    std::optional<std::int64_t> head{};  ///< compute this head only, see Inside
    /// Long texts only: compute just the rows of the maps that the arithmetic reads. Otherwise it uses the maps of Inside.
    bool in_rows = false;
    bool operator==(const Explanation&) const = default;
};

/// An attention map averaged over its heads, [B,T,S].
struct HeadMean {
    using Value = Tensor<float>;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    StageId stage;
    std::optional<Inside> part{};  ///< the part that holds the map. None: any that does
    bool operator==(const HeadMean&) const = default;
};

/// The norm of what each head would add from each key at a weight of 1, [B,H,S]; see value_norms().
struct ValueNorms {
    using Value = Tensor<float>;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    StageId weights;
    /// For the attention that a map belongs to.
    static ValueNorms of(StageId map) { return {weights_of(map)}; }
    bool operator==(const ValueNorms&) const = default;
};

/// Statistics of the numbers of a stage or a parameter, or of the loss gradients with respect to them.
struct Statistics {
    using Value = TensorStatistics;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StageId stage{};
    bool gradients = false;
    std::optional<std::int64_t> head{};      ///< statistics of this head of an attention map; negative: of the mean. None: all heads
    std::optional<std::int64_t> sequence{};  ///< statistics of this sequence. None: all sequences
    std::optional<Inside> part{};            ///< the part that holds the numbers. None: any that does
    std::string parameter{};                 ///< statistics of this parameter instead of the stage
    bool operator==(const Statistics&) const = default;
};

/// The steps by which a tokenizer splits a text into pieces.
struct TokenPath {
    using Value = app::TokenPath;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    TextOfState text;
    bool operator==(const TokenPath&) const = default;
};

/// The same text tokenized by another tokenizer (a model's folder or file, or a tokenizer file). A new `opening` forces the file to be read
/// again.
struct OtherTokens {
    using Value = app::OtherTokens;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    TextOfState text;
    std::string file;
    std::uint64_t opening = 0;
    bool operator==(const OtherTokens&) const = default;
};

/// The tokens nearest to one by the direction of their embeddings, in the table that a stack reads.
struct NearTokens {
    using Value = app::NearTokens;
    static constexpr FacetInfo kInfo{};
    Stack stack = Stack::Main;
    std::int32_t id = 0;
    bool operator==(const NearTokens&) const = default;
};

/// The tokens of the model's vocabulary that contain a text.
struct FoundTokens {
    using Value = app::FoundTokens;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    std::string text;
    bool operator==(const FoundTokens&) const = default;
};

/// How the weights of another file of the same model differ from those of an opened one. Belongs to no state. `opening` as above.
struct WeightsBeside {
    using Value = app::WeightsBeside;
    static constexpr FacetInfo kInfo{};
    std::shared_ptr<const OpenedModel> model;
    std::string other;
    std::uint64_t opening = 0;
    bool operator==(const WeightsBeside&) const = default;
};

/// An error map of one parameter in those two files. Belongs to no state.
struct WeightErrors {
    using Value = WeightErrorMap;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    std::shared_ptr<const OpenedModel> model, other;
    std::string parameter;
    bool operator==(const WeightErrors&) const = default;
};

/// A window of a parameter's numbers in both files, around one of them. Belongs to no state.
struct WeightNumbers {
    using Value = app::WeightNumbers;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    std::shared_ptr<const OpenedModel> model, other;
    std::string parameter;
    std::int64_t row = 0, column = 0;
    bool operator==(const WeightNumbers&) const = default;
};

/// A recorded attention dump, examined. Belongs to no state. A new `opening` forces the file to be read again.
struct Dump {
    using Value = DoctorReport;
    static constexpr FacetInfo kInfo{};
    std::string file;
    std::uint64_t opening = 0;
    bool operator==(const Dump&) const = default;
};

}  // namespace facet

using Facet =
    std::variant<facet::Trace, facet::Beginning, facet::Inside, facet::Lens, facet::Totals, facet::Gradients, facet::Verification,
                 facet::Doctor, facet::Sample, facet::NextWords, facet::HeadRows, facet::KnockOut, facet::SameNumbers,
                 facet::FirstDifference, facet::Explanation, facet::HeadMean, facet::ValueNorms, facet::Statistics, facet::MapRegion,
                 facet::ChangedSlice, facet::StrongCells, facet::TotalsSlice, facet::RolloutTerms, facet::TokenPath, facet::OtherTokens,
                 facet::NearTokens, facet::FoundTokens, facet::WeightsBeside, facet::WeightErrors, facet::WeightNumbers, facet::Dump>;

inline const FacetInfo& info_of(const Facet& facet) {
    return std::visit([](const auto& one) -> const FacetInfo& { return one.kInfo; }, facet);
}

/// A facet of a state; what a view asks for.
struct Request {
    StateRef state;  ///< null for facets that belong to no state
    Facet facet;
    bool operator==(const Request&) const = default;
};

/// Equal requests have equal hashes. Covers what tells the requests of one frame apart: state, facet, stage, head, place.
struct RequestHash {
    std::size_t operator()(const Request& request) const;
};

}  // namespace attn::app
