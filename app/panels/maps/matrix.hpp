#pragma once
/// Two-dimensional slices of a trace for drawing: their numbers, their axes, and the trace cell behind each matrix cell.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/panels/kit/labels.hpp"
#include "app/session/values/changed_slice.hpp"
#include "app/session/values/facet.hpp"
#include "app/session/values/map_region.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/widgets/canvas.hpp"
#include "app/widgets/cell_marks.hpp"
#include "app/widgets/statistics.hpp"
#include "engine/explain/provenance.hpp"
#include "engine/trace/gradient_trace.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

struct StrongCells;

/// The kind of numbers, which determines colours and range.
enum class Content : std::uint8_t { Signed, Probability };

struct Matrix;
/// One of several maps.
struct MapOfHead {
    const Matrix* map = nullptr;
    std::int64_t head = 0;  ///< kMeanHead: the mean of the heads
};

/// An attention map of a long text, held in reduced form.
struct LargeMap {
    StageId stage;
    std::int64_t head = 0;  ///< equal to the number of heads: their mean
    NonFinite non_finite;
    bool in_blocks_alone = false;  ///< finer numbers are not available
    StateRef state{};              ///< the state it belongs to; null: the shown one
    facet::MapChange change{};     ///< the transformation applied
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
    LabelledBy labelled_by{};          ///< whose tokens label rows and columns
    bool is_gradient = false;          ///< loss gradients instead of values
    bool is_difference = false;        ///< difference of two states
    bool is_of_weights = false;        ///< with is_difference: of weights or probabilities
    bool is_changed = false;           ///< the numbers are not those of the stage, but computed from them; see MatrixStore::with_slice()
    bool is_norm_weighted = false;     ///< weights times the norms of what they weigh, see value_norms()
    bool is_side_a = false;            ///< state A of a comparison, drawn beside B
    bool is_transposed = false;        ///< rows and columns are exchanged
    std::optional<StageId> mean_of{};  ///< the mean over the heads of this map
    std::optional<LargeMap> large{};   ///< set if `data` has a level; see app/panels/maps/large_map.hpp

    bool empty() const { return data.empty(); }
    float at(std::int64_t row, std::int64_t col) const { return data.at(row, col); }
    bool masked(std::int64_t row, std::int64_t col) const { return data.masked(row, col); }

    std::optional<CellRef> cell(std::int64_t row, std::int64_t col) const;
    /// Row and column of a trace cell, if this matrix shows it.
    std::optional<std::pair<std::int64_t, std::int64_t>> place_of(const CellRef& cell) const;
};

/// Set the fields that say what was done with the numbers.
void mark_without_first_key(Matrix& weights);
void mark_norm_weighted(Matrix& weights);
void mark_difference(Matrix& now);

/// A place for the sums of a matrix's rows, and for a token-to-token map that `symbol` names; without numbers.
Matrix place_of_row_sums(const Matrix& matrix);
Matrix place_of_token_map(std::int64_t positions, std::string symbol);

/// Stands for the mean over all heads in place of a head index. Only for weights (also after dropout): a mean of scores is meaningless,
/// since softmax is applied per head.
inline constexpr std::int64_t kMeanHead = -1;
inline bool has_head_mean(Stage stage) { return stage == Stage::Weights || stage == Stage::Dropped; }

/// The tensors drawn besides the shown snapshot, in request order: those of its other facets and of other states.
using OtherStates = std::vector<std::shared_ptr<const void>>;

/// Builds matrices from a snapshot and the tensors beside it, and caches numbers computed for drawing (one-hot rows, differences,
/// row sums, totals). Everything but changed slices is dropped, and gets new keys, when one of these inputs changes.
class MatrixStore {
public:
    /// Sets the inputs and drops what was computed from others. Tensors are identified by address, so `others` are kept alive until the
    /// next call to prevent addresses from being reused.
    void use(const Snapshot& snapshot, OtherStates others = {});
    /// At the end of a frame: releases the tensors that it did not draw, and keeps `others` until the next call.
    void keep(OtherStates others);

    /// A slice of a recorded stage, or of its reduced map, for one sequence and query head; empty if the trace does not contain the stage.
    Matrix stage(const Trace<float>& trace, const StageId& id, std::int64_t batch, std::int64_t head);
    /// The same for the mean over its heads, [B,T,S].
    Matrix mean_map(const RecordedStage<float>& stage, const Tensor<float>& mean, std::int64_t batch);
    /// The mean over the heads of a reduced map; empty if there is none.
    Matrix reduced_mean(const Trace<float>& trace, const StageId& id);
    /// Attention accumulated over all layers of a long text; `symbol` names it.
    Matrix reduced_total(const Trace<float>& trace, const ReducedMap& map, std::string symbol);
    /// The transformed large map, given the `numbers` of the whole; empty if these are of other heads.
    Matrix changed(const Matrix& matrix, const facet::MapChange& change, std::int64_t heads, std::shared_ptr<const ReducedMap> numbers);
    /// A region of a large map, cached as long as it is requested in every frame; null if `region` is of other heads.
    const HeatmapRegion* region(const LargeMap& map, std::int64_t heads, std::shared_ptr<const ReducedMap> region, bool is_whole = false);
    /// The last requested region of that map, if it is still cached.
    const HeatmapRegion* last_region(const LargeMap& map);
    /// A slice of a parameter. `first_col` and `cols` select columns of its matrix (a head's part of a packed one); vectors give a single
    /// row.
    Matrix parameter(const Trace<float>& trace, const std::string& name, Axis row_axis, Axis col_axis, std::int64_t first_col,
                     std::int64_t cols, std::int64_t first_row = 0, std::int64_t rows = -1);
    Matrix transposed(const Matrix& matrix, std::string symbol);
    /// The gradients of the matrix's numbers in the same layout; empty if it has none (one-hot rows, differences, sums).
    Matrix gradient_of(const Matrix& matrix, const Trace<float>& trace, const GradientTrace<float>& gradients);
    /// The matrix with `numbers` that a facet computed, unmarked; kept as long as they are requested in every frame.
    Matrix with_slice(const Matrix& matrix, std::shared_ptr<const ChangedSlice> numbers);
    /// See slice_without_first_key(); for small matrices.
    Matrix without_first_key(const Matrix& weights);
    /// See norm_weighted_slice(); for small matrices. `norms` are value_norms() [B,H,S] of the stage.
    Matrix norm_weighted(const Matrix& weights, const Tensor<float>& norms, std::int64_t batch, std::int64_t head);
    /// The tokens of a sequence as one-hot rows, [T,V].
    Matrix one_hot(const Trace<float>& trace, const StageId& tokens, std::int64_t batch);
    /// See slice_difference(); for small matrices. Empty if the shapes differ.
    Matrix difference(const Matrix& now, const Matrix& before);
    /// Statistics of a matrix. For a large map only non-finite counts (see facet::Statistics), and range, mean and deviation of its blocks.
    const TensorStatistics& statistics(const Matrix& matrix);
    /// The range of what is called `name`: that of `now`, or the last one while `now` is null; 0 to 0 if there was none yet.
    std::pair<float, float> latest_range(const std::string& name, const TensorStatistics* now);
    /// See slice_of_totals(); for small maps. `place`: the matrix that names them, without numbers.
    Matrix totals(const Matrix& place, const TotalsMap& map);
    /// See slice_row_sums(); for small matrices.
    Matrix row_sums(const Matrix& matrix);
    /// What StrongestCells finds in small maps, and in the rows that large ones hold; searched once, and kept as long as it is requested in
    /// every frame.
    std::shared_ptr<const StrongCells> strong_cells(std::span<const MapOfHead> maps, std::size_t most);
    /// The last cells that a facet found in a stage and sequence, while others are being searched: `found`, if it is not null.
    std::shared_ptr<const StrongCells> latest_cells(const StageId& stage, std::int64_t sequence, std::shared_ptr<const StrongCells> found);

private:
    void forget_computed();
    /// Which number of each row is 1.
    struct OneHotRows {
        const std::int32_t* ids;
        std::int64_t cols;
        static float read(const void* rows, std::int64_t at);
    };
    Matrix slice(const RecordedStage<float>& stage, std::int64_t batch, std::int64_t head);
    Matrix reduced(const Trace<float>& trace, const ReducedMap& map, std::int64_t head);
    Matrix with_numbers(Matrix matrix, std::uint64_t key, const ChangedSlice& numbers);
    struct Slice {
        std::shared_ptr<const ChangedSlice> numbers;
        std::uint64_t key = 0;
        bool used = true;  ///< since the last use()
    };
    struct Region {
        std::shared_ptr<const ReducedMap> numbers;
        HeatmapRegion region;
        bool used = true;  ///< since the last use()
    };
    struct Cells {
        std::shared_ptr<const StrongCells> found;
        bool used = true;  ///< since the last use()
    };
    std::uint64_t key_of(const LargeMap& map) const;
    std::uint64_t serial_ = 0;
    OtherStates others_;
    std::uint64_t generation_ = 0;  // incremented when serial_ or others_ changes
    std::map<std::uint64_t, ChangedSlice> changed_;
    std::map<const ChangedSlice*, Slice> slices_;
    std::uint64_t slices_so_far_ = 0;
    std::map<std::uint64_t, TensorStatistics> statistics_;
    std::map<std::string, std::pair<float, float>> latest_ranges_;
    std::map<std::uint64_t, OneHotRows> one_hot_;
    std::map<std::uint64_t, Cells> strong_cells_, latest_cells_;
    std::map<std::uint64_t, Region> regions_;
    std::map<std::uint64_t, std::uint64_t> last_regions_;  ///< by map
};

}  // namespace attn::app
