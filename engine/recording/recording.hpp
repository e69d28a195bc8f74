#pragma once
/// A recording of attention in somebody's own code: what was recorded, and the graph of its stages. Numbers are in the files of its steps
/// (recorded_step.hpp). Format: assets/help/10-recordings.md.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::recording {

/// Whether a stage's numbers are in the file, can be computed from its inputs, or are not to be had.
enum class Have : std::uint8_t { Recorded, Follows, No };

/// A tensor between the inputs and the result of an attention, or around attentions.
struct RecordedStage {
    std::string name;                 ///< within its attention; of a stage around: as it is
    std::string op;                   ///< "product", "softmax" ...; "given" for what we have no arithmetic for
    std::vector<std::string> inputs;  ///< full names of other stages
    std::string axes;                 ///< a letter for each axis: "BHTS"; "" if unknown
    std::string line;                 ///< of the user's code: "attention.py:41"; "" if unknown
    Have have = Have::Recorded;
    std::string reason;                   ///< why there are no numbers
    std::string channels;                 ///< the letters that its last axis has in the code: "HD", "DH"; "" if unknown
    std::vector<std::string> parameters;  ///< of a linear map: weight, and bias
    std::string called;                   ///< what the library calls the operation
    std::string mask;                     ///< full name of the mask or bias
    std::string how;                      ///< the operation in the code: "masked_fill", "add", "div"
    bool true_is_hidden = true;           ///< of a mask of true and false
    bool causal = false;                  ///< hides keys after the query, without a mask tensor
    double fill = 0;                      ///< what hidden cells become
    double by = 1;                        ///< factor, or the cap
    double rate = 0;                      ///< of dropout; NaN if unknown
    double eps = 0;                       ///< of a norm: what is added to the variance; NaN if unknown
    char over = 'S';                      ///< the softmax's axis; '?' if it is none of the letters
    bool on_operands = false;             ///< q or k was multiplied instead of the scores
    std::int64_t extra = 0;               ///< columns after the keys (a sink)
    bool empty_is_zero = false;           ///< of a softmax inside a kernel: rows without a key become 0, not NaN
    bool padded = false;                  ///< of a kernel's result: rows of zeros stand for no position
    std::string kernel;                   ///< the attention whose kernel made it, if that is one of PyTorch's that compute whole layers
    std::string tensor;                   ///< its name in the files of the steps; "": ATTENTION/STAGE
};

/// Something the graph shows beyond the stages: "no_residual", "unused_parameter" ...
struct Fact {
    std::string what, line;
    std::string name;        ///< of a parameter or module
    std::string class_name;  ///< of the module
    std::string are;         ///< of targets: "inputs", "next inputs" or "previous inputs"
};

/// What could not be followed.
struct Unfollowed {
    std::string what, line, todo;
};

struct RecordedAttention {
    std::string name, class_name, source;
    std::optional<bool> training;
    bool of_library = false;  ///< a library, not the user's code, called the operations
    std::int64_t call = 1, calls = 1;
    bool cross = false;
    bool heads_known = true;
    std::int64_t repeat = 1;             ///< query heads that share a head of k and v
    std::map<char, std::int64_t> sizes;  ///< by letter
    std::optional<double> scale;         ///< product of all factors between q·k and the softmax, if known
    std::vector<RecordedStage> stages;   ///< in the order of the code
    std::vector<Fact> facts;
    std::vector<Unfollowed> unfollowed;

    /// The stage of that name; null if there is none.
    const RecordedStage* find(std::string_view stage) const;
    bool has_fact(std::string_view what) const;
    /// 0 if unknown.
    std::int64_t size(char letter) const;
};

struct RecordedGraph {
    std::vector<RecordedAttention> attentions;
    std::vector<RecordedStage> around;
    std::vector<Fact> facts;
};

/// How the parts that several processes have of a tensor make one.
struct Joint {
    enum class How : std::uint8_t {
        Unknown,
        Same,    ///< each process has all of it
        Beside,  ///< along an axis
        Sum,     ///< partial sums
    };
    How how = How::Unknown;
    std::size_t axis = 0;                ///< of Beside
    std::vector<std::int64_t> blocks{};  ///< of Beside: stretches of a part's axis, in each of which the processes stand beside each other;
                                         ///< empty: the whole axis is one
};
/// By name in the files of the steps. What is not listed is Unknown.
using Joints = std::map<std::string, Joint, std::less<>>;

/// A file with the tensors of a step.
struct StepFile {
    std::int64_t step = 0;
    std::int64_t rank = 0;
    std::filesystem::path path;
    std::span<const std::byte> bytes{};                   ///< the .safetensors file itself, if it is in memory and not at the path
    std::vector<std::filesystem::path> beside{};          ///< files of other processes, joined with this one
    std::shared_ptr<const std::vector<Joints>> joints{};  ///< by number of the graph; null if there are none beside it
};

struct Recording {
    std::filesystem::path path;
    std::int64_t run = 1;
    std::optional<std::int64_t> rank = 0;                         ///< of the process that recorded it; nothing: the heads of all are joined
    std::vector<std::int64_t> ranks{0};                           ///< of all processes of the job, rising
    bool joints_are_sure = false;                                 ///< whether later steps can tell no more of how heads are joined
    bool can_join = false;                                        ///< whether the processes computed heads of one model side by side
    std::size_t files = 1;                                        ///< that hold steps of the run, of all ranks
    std::string error;                                            ///< the error that ended the recorded code, with its line; "" if none
    std::vector<std::vector<std::string>> tokens, source_tokens;  ///< rows of words; the second: of what the keys belong to
    bool has_graph = false;  ///< false: without recording.json, the graphs are made from the names of tensors
    std::vector<RecordedGraph> graphs;
    std::vector<Unfollowed> unfollowed;
    std::vector<StepFile> steps;  ///< of this rank, by step
};

/// Under which name a stage is in the files of the steps: "ATTENTION/STAGE".
std::string full_name(const RecordedAttention& attention, const RecordedStage& stage);

/// The file of a step; the newest step if none is asked for. Throws Error if there is none, or not that one.
const StepFile& step_file(const Recording& recording, std::optional<std::int64_t> step);

/// Where a process of a job describes what it records.
std::filesystem::path description_of(const std::filesystem::path& folder, std::int64_t rank);

/// How many files a run has in a folder by now, which grows with every step. Throws FileError if it cannot be listed.
std::size_t count_steps(const std::filesystem::path& folder, std::int64_t run);

/// Reads a folder's newest run, or one .safetensors, .npz or .npy file as a recording of a single step. Of the steps only the names are
/// read. Of a job of several processes, what the one with this rank recorded; without a rank, the heads of all beside each other if they
/// are parts of one model, else what the first recorded. `before`: the same, read earlier, which saves finding out how parts are joined.
/// Throws FileError naming the file and the place: Schema for another format, for inputs that lead back to themselves, and for names that
/// occur twice; as the readers of the files otherwise.
Recording read_recording(const std::filesystem::path& path, std::optional<std::int64_t> rank = {}, const Recording* before = nullptr);
/// The same of a folder `name` that is in memory: its recording.json, and its steps by step and rank.
Recording read_recording(std::string_view description, std::vector<StepFile> steps, const std::filesystem::path& name);

}  // namespace attn::recording
