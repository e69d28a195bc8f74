#pragma once
/// Facets: what can be known of a state. Views ask for those that they show, and nothing else is computed.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "app/session/states/state.hpp"
#include "engine/explain/provenance.hpp"
#include "engine/generate/generate.hpp"
#include "engine/plan/stage.hpp"
#include "engine/precision/weight_error.hpp"
#include "engine/trace/head_worth.hpp"
#include "engine/trace/reduced_map.hpp"

namespace attn {
template <class Scalar>
struct GradientTrace;
namespace reference {
struct Verification;
}
}  // namespace attn

namespace attn::app {

struct DoctorReport;
struct Explanation;
struct HeadRows;
struct NextWords;
struct OtherTokens;
struct Readings;
struct Sample;
struct Snapshot;
struct TensorStatistics;
struct TokenPath;
struct WeightNumbers;
struct WeightsBeside;

/// Who computes a facet: what takes a moment never waits for what takes long.
enum class Lane : std::uint8_t { Prompt, Patient };
inline constexpr int kLanes = 2;

/// A facet's row of the table; what it needs and how it is computed is in facets.cpp, a function for each.
struct FacetInfo {
    Lane lane = Lane::Patient;
    std::string_view failed{};  ///< before the message of an error
    /// While a run is followed what is patient is computed again after such a pause, and after so many times as long as it took.
    std::chrono::milliseconds pause{1000};
    int share = 20;
    bool tensors = false;    ///< views draw its numbers where they lie
    bool gives_way = false;  ///< to whatever else its lane may compute
};

/// What is read off a whole trace.
enum class ReadingKind : std::uint8_t { Lens, Totals };

/// What a large layer is looked at in.
enum class LayerHalf : std::uint8_t { Attention, FeedForward };

namespace facet {

/// The forward pass with every stage recorded, or of a large one the outline, and what names its axes.
struct Trace {
    using Value = Snapshot;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    bool operator==(const Trace&) const = default;
};

/// One part of the model (see Plan::part_around), computed again where the trace is an outline; the trace itself where it is whole.
struct Inside {
    using Value = Snapshot;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    StageId first;  ///< the part's first stage
    /// Of a long text the part holds few of its attention maps, which are large: this one (of self-attention's name), what it is computed
    /// from, and the weights. None: all.
    std::optional<Stage> map{};
    /// Of its maps this head alone. None: all.
    std::optional<std::int64_t> head{};
    /// Of a layer the stages before its feed-forward, or these alone. None: all.
    std::optional<LayerHalf> half{};
    /// Of a long text the maps of all heads, reduced to this level (see ReducedMap). None: their numbers.
    std::optional<int> level{};
    /// With `level` and `map`: that map and nothing else.
    bool maps_alone = false;
    bool operator==(const Inside&) const = default;
};

/// What becomes of an attention map of a long text before it is drawn; see attn::MapChange.
struct MapChange {
    bool without_first_key = false, times_moved = false;
    StateRef minus{};  ///< less what this state has there; null: nothing
    StageId minus_stage{};
    std::optional<std::int64_t> minus_head{};
    bool operator==(const MapChange&) const = default;
};

/// A region of an attention map of a long text, of all heads or of one.
struct MapRegion {
    using Value = ReducedMap;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};  // whoever draws it keeps it: see MatrixStore::region()
    StageId stage;
    attn::MapRegion region;
    std::optional<std::int64_t> head{};
    MapChange change{};
    bool operator==(const MapRegion&) const = default;
};

/// What is read off the whole trace: the lens or attention over all layers.
struct Readings {
    using Value = app::Readings;
    static constexpr FacetInfo kInfo{.tensors = true};
    ReadingKind kind = ReadingKind::Lens;
    bool operator==(const Readings&) const = default;
};

/// What every number does to the loss of predicting the next token.
struct Gradients {
    using Value = GradientTrace<float>;
    static constexpr FacetInfo kInfo{.tensors = true};
    bool operator==(const Gradients&) const = default;
};

/// Whether the reference finds the same numbers: all of them, or of an outline those of one part, from what that part reads.
struct Verification {
    using Value = reference::Verification;
    static constexpr FacetInfo kInfo{.failed = "could not check the numbers: ", .gives_way = true};
    std::optional<StageId> part{};  ///< its first stage
    bool operator==(const Verification&) const = default;
};

struct Doctor {
    using Value = DoctorReport;
    static constexpr FacetInfo kInfo{.failed = "could not examine the numbers: "};
    bool operator==(const Doctor&) const = default;
};

/// The first sequence written on, by causal models with a head.
struct Sample {
    using Value = app::Sample;
    static constexpr FacetInfo kInfo{.pause = std::chrono::milliseconds(250), .share = 8};
    SamplingSettings sampling;
    bool operator==(const Sample&) const = default;
};

/// What may come after the last word of a sequence, or of an encoder stand at a position of it, and what the sampler makes of it; its seed
/// and number of tokens do not matter.
struct NextWords {
    using Value = app::NextWords;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    std::int64_t sequence = 0;
    SamplingSettings sampling{};
    std::optional<std::int64_t> position{};  ///< where an encoder has a hidden word
    bool operator==(const NextWords&) const = default;
};

/// Where every head of all layers looks from one position of one sequence.
struct HeadRows {
    using Value = app::HeadRows;
    static constexpr FacetInfo kInfo{.failed = "could not compute where the heads look: "};
    std::int64_t sequence = 0, position = 0;
    bool operator==(const HeadRows&) const = default;
};

/// What each head is worth.
struct KnockOut {
    using Value = attn::KnockOut;
    static constexpr FacetInfo kInfo{.share = 2};
    KnockOutQuestion question;
    bool operator==(const KnockOut&) const = default;
};

/// Whether another state has the same numbers, all of them.
struct SameNumbers {
    using Value = bool;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StateRef other;
    bool operator==(const SameNumbers&) const = default;
};

/// The arithmetic behind one cell.
struct Explanation {
    using Value = app::Explanation;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    CellRef cell;
    std::optional<std::int64_t> head{};  ///< that is looked at alone, see Inside
    /// Of the maps of a long text the rows that the arithmetic reads are computed; else they are those of Inside.
    bool in_rows = false;
    bool operator==(const Explanation&) const = default;
};

/// The mean of an attention map over its heads, [B,T,S].
struct HeadMean {
    using Value = Tensor<float>;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    StageId stage;
    bool operator==(const HeadMean&) const = default;
};

/// How much the heads of an attention move from each key with a weight of 1, [B,H,S]; see moved_norms().
struct MovedNorms {
    using Value = Tensor<float>;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    StageId weights;
    bool operator==(const MovedNorms&) const = default;
};

/// What all numbers of a stage are like, or the gradients of the loss by them.
struct Statistics {
    using Value = TensorStatistics;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    StageId stage;
    bool gradients = false;
    /// Of an attention map of a long text: of this head alone. None: all.
    std::optional<std::int64_t> head{};
    bool operator==(const Statistics&) const = default;
};

/// How a published model's tokenizer cut a text, step by step.
struct TokenPath {
    using Value = app::TokenPath;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    std::int64_t sequence = 0;
    bool operator==(const TokenPath&) const = default;
};

/// The same text cut by another tokenizer: a model's folder or file, or a tokenizer's file. `opening` tells one reading of it from the
/// next.
struct OtherTokens {
    using Value = app::OtherTokens;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt};
    std::int64_t sequence = 0;
    std::string file;
    std::uint64_t opening = 0;
    bool operator==(const OtherTokens&) const = default;
};

/// By how much the weights of another file of the same model differ from an opened one's; of no state. `opening` as above.
struct WeightsBeside {
    using Value = app::WeightsBeside;
    static constexpr FacetInfo kInfo{};
    std::shared_ptr<const OpenedModel> model;
    std::string other;
    std::uint64_t opening = 0;
    bool operator==(const WeightsBeside&) const = default;
};

/// The errors of one parameter of theirs as a picture; of no state.
struct WeightErrors {
    using Value = WeightErrorMap;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    std::shared_ptr<const OpenedModel> model, other;
    std::string parameter;
    bool operator==(const WeightErrors&) const = default;
};

/// Some of a parameter's numbers in both, around one of them; of no state.
struct WeightNumbers {
    using Value = app::WeightNumbers;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .tensors = true};
    std::shared_ptr<const OpenedModel> model, other;
    std::string parameter;
    std::int64_t row = 0, column = 0;
    bool operator==(const WeightNumbers&) const = default;
};

/// A file with attention that other code recorded, examined; of no state. `opening` tells one reading of a file from the next.
struct Dump {
    using Value = DoctorReport;
    static constexpr FacetInfo kInfo{};
    std::string file;
    std::uint64_t opening = 0;
    bool operator==(const Dump&) const = default;
};

}  // namespace facet

using Facet = std::variant<facet::Trace, facet::Inside, facet::Readings, facet::Gradients, facet::Verification, facet::Doctor,
                           facet::Sample, facet::NextWords, facet::HeadRows, facet::KnockOut, facet::SameNumbers, facet::Explanation,
                           facet::HeadMean, facet::MovedNorms, facet::Statistics, facet::MapRegion, facet::TokenPath, facet::OtherTokens,
                           facet::WeightsBeside, facet::WeightErrors, facet::WeightNumbers, facet::Dump>;

inline const FacetInfo& info_of(const Facet& facet) {
    return std::visit([](const auto& one) -> const FacetInfo& { return one.kInfo; }, facet);
}

/// A facet of a state: what a view asks for.
struct Request {
    StateRef state;  ///< null for a facet of no state
    Facet facet;
    bool operator==(const Request&) const = default;
};

}  // namespace attn::app
