#pragma once
/// Computes stages of recorded code from the stages before them, in double precision. For the files of this folder that ask for it:
/// whether what was recorded follows (follow.hpp), and what edits make of it (recompute.hpp).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "engine/recording/follow.hpp"
#include "engine/recording/numbers.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

/// Why a stage cannot be computed.
struct NotComputed {
    std::string why;
};

/// The parameters of a linear map with how they are used.
struct FittingMap {
    NamedArray weight;
    std::optional<NamedArray> bias;
    bool transposed = false;
    std::int64_t first = 0;

    LinearMap map() const { return {weight, bias ? &*bias : nullptr, transposed, first}; }
};

/// Of one attention; of the stages between attentions, with an empty one. What it is made of must outlive it.
class Follower {
public:
    Follower(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step, const FindParameter& parameter)
        : graph_(graph), attention_(attention), step_(step), parameter_(parameter) {}

    StageCheck check(const RecordedStage& stage);
    /// What a kernel made of the attention and the rest of its layer.
    StageCheck check_result(const RecordedStage& around);

    // All of these throw NotComputed.

    /// Nothing if the stage is not in the step.
    std::optional<Numbers> recorded(const RecordedStage& stage) const;
    /// What only follows, from what is recorded before it, through no more stages than an attention has.
    Numbers computed(const RecordedStage& stage);
    /// By its operation alone.
    Numbers from_inputs(const RecordedStage& stage);
    /// The numbers of an input: as they were recorded, or computed where they only follow.
    Numbers input(const RecordedStage& stage, std::size_t place);
    /// Which cells were dropped is random: each is 0, or what was there, enlarged.
    Numbers after_dropout(const RecordedStage& stage, const Numbers& recorded);
    /// The way to use a linear map's parameters from which the recorded numbers follow; nothing if there is none.
    std::optional<FittingMap> fitting_map(const RecordedStage& stage, const Numbers& recorded);
    /// Whether the mask of a stage can be read.
    bool knows_mask(const RecordedStage& stage) const;

    /// Inputs may be stages of other attentions from now on.
    void read_all_attentions() { reads_all_ = true; }
    /// Numbers that stand in the place of a stage's, by its name in the step; null for those that are as they were.
    using Instead = std::function<const Numbers*(const std::string& name)>;
    /// Inputs are read there first from now on.
    void read_first(Instead instead);

private:
    std::string name_in_step(const RecordedStage& stage) const;
    std::string why_missing(const RecordedStage& stage);
    Numbers recorded_numbers(const std::string& name, const std::string& axes) const;
    Numbers of_attention(const std::string& name, const std::string& axes, std::int64_t extra) const;
    const Numbers* instead_of(const std::string& name) const { return instead_ ? instead_(name) : nullptr; }
    Numbers masked(const RecordedStage& stage);
    Numbers scaled(const RecordedStage& stage);
    Numbers product(const RecordedStage& stage);
    void expect_room(const Numbers& a, const Numbers& b, const std::string& axes) const;
    Numbers joined(const RecordedStage& stage);
    Numbers inside_kernel(const RecordedStage& stage);
    Numbers mapped_in_kernel(const RecordedStage& stage);
    std::vector<double> parameter(const RecordedStage& stage, std::size_t place) const;
    StageCheck checked_linear(const RecordedStage& stage, const Numbers& recorded, StageCheck result);

    const RecordedGraph& graph_;
    const RecordedAttention& attention_;
    const RecordedStep& step_;
    const FindParameter& parameter_;
    bool reads_all_ = false;
    bool within_other_ = false;  ///< it follows a stage of another attention for one of another
    Instead instead_;
    int depth_ = 0;
    std::map<const RecordedStage*, Numbers> followed_;  ///< computed for the stage that is being checked
};

/// Whether the recorded numbers are the expected ones but for rounding. Throws NotComputed if there are not as many.
bool follows(const Numbers& recorded, const Numbers& expected);
/// Throws NotComputed unless two tensors agree wherever both have a letter.
void expect_to_fit(const Numbers& a, const Numbers& b);
/// Such as "there is no arithmetic for topk".
std::string no_arithmetic(const RecordedStage& stage);

inline constexpr const char* kUnknownChannels = "how its channels are cut into heads is not known";
inline constexpr const char* kUnknownMask = "its mask was not recorded";
inline constexpr const char* kUnknownParameters = "its parameters were not recorded";

}  // namespace attn::recording
