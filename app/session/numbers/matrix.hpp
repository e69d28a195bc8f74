#pragma once
/// A matrix to draw: its numbers, its axes, and the cell of the model behind each of them. NumberDesk makes them.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "app/session/numbers/cell_marks.hpp"
#include "app/session/numbers/heatmap_data.hpp"
#include "app/session/values/map_region.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/explain/provenance.hpp"
#include "engine/trace/reduced_map.hpp"

namespace attn::app {

/// Stands for the mean over all heads in place of a head index. Only for weights (also after dropout): a mean of scores is meaningless,
/// since softmax is applied per head.
inline constexpr std::int64_t kMeanHead = -1;
inline bool has_head_mean(Stage stage) { return stage == Stage::Weights || stage == Stage::Dropped; }

/// Whose numbers are meant.
struct Subject {
    StateRef state;
    const Snapshot* snapshot = nullptr;      ///< of that state; must outlive the frame. Null while it is not computed
    std::optional<std::int64_t> one_head{};  ///< the only head that is shown of it; none: all of them together
    bool empty() const { return snapshot == nullptr; }
    /// Plan, shapes, texts and settings.
    const Structure& structure() const { return *snapshot->trace; }
    bool operator==(const Subject&) const = default;
};

/// A question for the numbers of a stage.
struct NumbersOf {
    Subject of;
    StageId stage;
    std::int64_t sequence = 0;
    std::int64_t head = 0;  ///< query head, or kMeanHead
    /// A stage that is shown, too: the numbers are taken from the part of the model that is computed for that one, if they are there.
    std::optional<StageId> beside{};
    bool if_held = false;                                   ///< only what the state itself holds: no part of the model is computed for it
    bool without_first_key = false, norm_weighted = false;  ///< weights only; applied in this order
};

/// The kind of numbers, which determines colours and range.
enum class Content : std::uint8_t { Signed, Probability };

/// The states and sequences whose tokens label rows and columns.
struct LabelledBy {
    const Snapshot* snapshot = nullptr;  ///< null: the shown one
    std::int64_t batch = 0;
    const Snapshot* before = nullptr;  ///< of a difference: the state that is subtracted; null: its tokens are the same
    std::int64_t batch_before = 0;
};

/// An attention map of a long text, of which one number is held for each block of cells. Finer numbers follow where they are looked at.
struct Blocks {
    std::int64_t head = 0;  ///< equal to the number of heads: their mean
    NonFinite non_finite;
    bool alone = false;              ///< finer numbers are not to be had
    facet::MapChange change{};       ///< the transformation applied
    std::uint64_t minus_serial = 0;  ///< of what it subtracts
};

struct Matrix {
    std::string symbol;  ///< such as "Q", "Kᵀ", "W_Q"
    std::string name;    ///< stage or parameter name; identifies zoom states
    Axis row_axis = Axis::T, col_axis = Axis::S;
    Content content = Content::Signed;
    HeatmapData data;
    CellMarks edited;  ///< cells set by an edit; no marks if there are none
    /// The trace cell of (row, col) is `origin` with row and col inserted at these index positions; -1 for an axis without index.
    std::optional<CellRef> origin;
    int row_index = -1, col_index = -1;
    std::optional<NumbersOf> of{};     ///< what was asked for; none for parameters, one-hot rows and totals
    LabelledBy labelled_by{};          ///< whose tokens label rows and columns
    bool is_gradient = false;          ///< loss gradients instead of values
    bool is_difference = false;        ///< difference of two states
    bool is_of_weights = false;        ///< with is_difference: of weights or probabilities
    bool is_changed = false;           ///< the numbers are not those of the stage, but computed from them
    bool is_norm_weighted = false;     ///< weights times the norms of what they weigh, see value_norms()
    bool is_side_a = false;            ///< state A of a comparison, drawn beside B
    bool is_transposed = false;        ///< rows and columns are exchanged
    std::optional<StageId> mean_of{};  ///< the mean over the heads of this map
    std::optional<Blocks> blocks{};    ///< set if `data` has a level; the desk's own business

    bool empty() const { return data.empty(); }
    /// Whether most numbers stand for a block of cells; HeatmapData::knows() says which do not.
    bool in_blocks() const { return blocks.has_value(); }
    float at(std::int64_t row, std::int64_t col) const { return data.at(row, col); }
    bool masked(std::int64_t row, std::int64_t col) const { return data.masked(row, col); }

    std::optional<CellRef> cell(std::int64_t row, std::int64_t col) const;
    /// Row and column of a trace cell, if this matrix shows it.
    std::optional<std::pair<std::int64_t, std::int64_t>> place_of(const CellRef& cell) const;
};

/// One of several maps.
struct MapOfHead {
    const Matrix* map = nullptr;
    std::int64_t head = 0;  ///< kMeanHead: the mean of the heads
};

/// Empty for a map that is held in blocks.
Matrix transposed(const Matrix& matrix, std::string symbol);

/// Set the fields that say what was done with the numbers.
void mark_without_first_key(Matrix& weights);
void mark_norm_weighted(Matrix& weights);
void mark_difference(Matrix& now);

/// A place for the sums of a matrix's rows, and for a token-to-token map that `symbol` names; without numbers.
Matrix place_of_row_sums(const Matrix& matrix);
Matrix place_of_token_map(std::int64_t positions, std::string symbol);

/// A frame has time to read this many cells, and those of several matrices like it: a fraction of a millisecond.
inline constexpr std::int64_t kFewCells = std::int64_t{1} << 18;
/// Whether a matrix has no more than that.
bool is_small(const Matrix& matrix);

}  // namespace attn::app
