#pragma once
/// Two-dimensional slices of a trace, ready to be drawn: which numbers, which axes, which cell of the trace stands behind each.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/session/facets/snapshot.hpp"
#include "app/session/states/facet.hpp"
#include "app/widgets/canvas.hpp"
#include "app/widgets/cell_marks.hpp"
#include "app/widgets/statistics.hpp"
#include "engine/explain/provenance.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// What a matrix holds, which decides its colours and its range.
enum class Content : std::uint8_t { Signed, Probability };

/// A state and sequence whose tokens label an axis, in place of the shown ones.
struct LabelledBy {
    const Snapshot* snapshot = nullptr;  ///< null: what is shown
    std::int64_t batch = 0;
};

/// A map of a long text that is there reduced.
struct LargeMap {
    StageId stage;
    std::int64_t head = 0;  ///< as many as the model has: their mean
    NonFinite non_finite;
    bool in_blocks_alone = false;  ///< nothing more of it can be asked for
    StateRef state{};              ///< that it is of; null: the shown one
    facet::MapChange change{};     ///< what has become of it
};

struct Matrix {
    std::string symbol;  ///< "Q", "Kᵀ", "W_Q"
    std::string name;    ///< stage or parameter name, its identity for zoom states
    Axis row_axis = Axis::T, col_axis = Axis::S;
    Content content = Content::Signed;
    HeatmapData data;
    CellMarks edited;  ///< the cells that were set by an edit
    /// Cell behind (row, col): `origin` with row and col put at these index positions; -1 where the axis is not indexed.
    std::optional<CellRef> origin;
    int row_index = -1, col_index = -1;
    LabelledBy labelled_by{};         ///< whose tokens stand beside rows and columns
    bool is_gradient = false;         ///< of the loss, instead of the value
    bool is_difference = false;       ///< of two states
    bool is_moved = false;            ///< weights times the length of what they move
    bool is_transposed = false;       ///< drawn with rows and columns changed about
    std::optional<LargeMap> large{};  ///< `data` has a level; see app/panels/maps/large_map.hpp

    bool empty() const { return data.empty(); }
    float at(std::int64_t row, std::int64_t col) const { return data.at(row, col); }
    bool masked(std::int64_t row, std::int64_t col) const { return data.masked(row, col); }

    std::optional<CellRef> cell(std::int64_t row, std::int64_t col) const;
    /// Row and column of the cell, if it is among the shown ones.
    std::optional<std::pair<std::int64_t, std::int64_t>> place_of(const CellRef& cell) const;
};

/// In place of a head: the mean over all of them, of weights (also after dropout). A mean of scores would mean nothing: the softmax makes
/// them weights head by head.
inline constexpr std::int64_t kMeanHead = -1;
inline bool has_head_mean(Stage stage) { return to_self(stage) == Stage::Weights || to_self(stage) == Stage::Dropped; }

/// What is drawn beside the shown snapshot: tensors of its other facets and of other states, in the order in which they are asked for.
using OtherStates = std::vector<std::shared_ptr<const void>>;

/// Builds matrices of one snapshot and of what stands beside it, and keeps the numbers that had to be computed for the picture
/// (transposes, one-hot rows, differences, row sums). Dropped as a whole, and drawn under other keys, when any of these changes.
class MatrixStore {
public:
    /// Forgets what was computed from anything else. Tensors are told apart by their addresses: `others` are held until the next call,
    /// so that no newer tensor can have the address of one that is gone.
    void use(const Snapshot& snapshot, OtherStates others = {});

    /// Slice of a recorded stage for one sequence and head of the queries, or of its reduced maps; empty when the trace has no such stage.
    Matrix stage(const Trace<float>& trace, const StageId& id, std::int64_t batch, std::int64_t head);
    /// The same of the mean over its heads, [B,T,S].
    Matrix mean_map(const RecordedStage<float>& stage, const Tensor<float>& mean, std::int64_t batch);
    /// The mean over the heads of a map that is there reduced; empty where it is not, or has none.
    Matrix reduced_mean(const Trace<float>& trace, const StageId& id);
    /// What is read off all layers of a long text; `symbol` names it.
    Matrix reduced_total(const Trace<float>& trace, const ReducedMap& map, std::string symbol);
    /// The same large map as something has changed it: `numbers` of all of it; empty where these have other heads.
    Matrix changed(const Matrix& matrix, const facet::MapChange& change, std::int64_t heads, std::shared_ptr<const ReducedMap> numbers);
    /// A region of a large map, which is kept as long as it is asked for in every frame; null where `region` has other heads.
    const HeatmapRegion* region(const LargeMap& map, std::int64_t heads, std::shared_ptr<const ReducedMap> region, bool is_whole = false);
    /// The region of that map that was asked for last, if it is still there.
    const HeatmapRegion* last_region(const LargeMap& map);
    /// Slice of a parameter: `first_col` and `cols` choose columns of its matrix (a head's part of a packed one); vectors are one row.
    Matrix parameter(const Trace<float>& trace, const std::string& name, Axis row_axis, Axis col_axis, std::int64_t first_col,
                     std::int64_t cols, std::int64_t first_row = 0, std::int64_t rows = -1);
    Matrix transposed(const Matrix& matrix, std::string symbol);
    /// The gradients of the matrix' numbers, laid out as it is; empty for what has none (one-hot rows, differences, sums).
    Matrix gradient_of(const Matrix& matrix, const Trace<float>& trace, const GradientTrace<float>& gradients);
    /// Weights without those on the first key: it is masked, and the others of each row are divided by their sum. Rows with nothing else
    /// stay 0.
    Matrix without_first_key(const Matrix& weights);
    /// Weights times the length of what each of them moves: moved_norms() [B,H,S] of their stage.
    Matrix times_moved(const Matrix& weights, const Tensor<float>& norms, std::int64_t batch, std::int64_t head);
    /// One-hot rows of the tokens of a sequence, [T,V].
    Matrix one_hot(const Trace<float>& trace, const StageId& tokens, std::int64_t batch);
    /// now - before, cell by cell; a cell masked in exactly one of them counts as 0 there for probabilities and is masked otherwise.
    /// Empty when the shapes differ.
    Matrix difference(const Matrix& now, const Matrix& before);
    /// Smallest, largest, mean, deviation, histogram and what is not finite. Of a large map the last alone (see facet::Statistics), and
    /// of its blocks smallest and largest.
    const TensorStatistics& statistics(const Matrix& matrix);
    /// A square of token to token that was computed elsewhere and outlives the snapshot's frame: [B,T,S]. `symbol` names it. Cells that
    /// the mask forbids are masked; if `zeros_only`, those of them that are 0.
    Matrix tokens_to_tokens(const Tensor<float>& values, std::int64_t batch, std::string symbol, const Mask* mask, bool zeros_only = false);
    /// Sum of every row over its unmasked cells, [rows,1].
    Matrix row_sums(const Matrix& matrix);

private:
    struct Computed {
        std::vector<float> values;
        std::vector<std::uint8_t> keep;
    };
    Computed& computed(std::uint64_t key, bool& fresh);
    Matrix slice(const RecordedStage<float>& stage, std::int64_t batch, std::int64_t head);
    Matrix reduced(const Trace<float>& trace, const ReducedMap& map, std::int64_t head);
    struct Region {
        std::shared_ptr<const ReducedMap> numbers;
        HeatmapRegion region;
        bool used = true;  ///< since the last use()
    };
    std::uint64_t key_of(const LargeMap& map) const;
    std::uint64_t serial_ = 0;
    OtherStates others_;
    std::uint64_t generation_ = 0;  // grows with every change of the two
    std::map<std::uint64_t, Computed> computed_;
    std::map<std::uint64_t, TensorStatistics> statistics_;
    std::map<std::uint64_t, Region> regions_;
    std::map<std::uint64_t, std::uint64_t> last_regions_;  ///< of each map
};

}  // namespace attn::app
