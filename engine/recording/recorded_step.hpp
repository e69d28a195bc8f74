#pragma once
/// The tensors of one step of a recording.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/array_file.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/safetensors_header.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

/// Before the names of parameters in the files of the steps.
inline constexpr std::string_view kParameters = "parameters/";

/// How many numbers a tensor has; its values need not be there.
std::int64_t count_of(const NamedArray& header);

/// A file of tensors of which only the header is read at first, if its format allows that.
class RecordedStep {
public:
    /// A .safetensors, .npz or .npy file, or what is in memory of one. Throws FileError as their readers do.
    explicit RecordedStep(const StepFile& file);

    const std::string& source() const { return source_; }
    /// Number of the step's graph in its recording; 0 if the file does not say.
    std::size_t graph() const { return graph_; }
    /// False if an error ended the step.
    bool is_complete() const { return complete_; }
    /// Null if there is no such entry, as in a file that is no .safetensors.
    const std::string* metadata(std::string_view key) const;
    /// Without values: bytes are empty.
    const std::vector<NamedArray>& tensors() const { return tensors_; }
    /// Null if there is no such tensor.
    const NamedArray* find(std::string_view name) const;
    /// With its values. Throws FileError, also if the file was changed after it was opened.
    NamedArray read(std::string_view name) const;

private:
    void open_parts(const StepFile& file);
    void open_safetensors(const std::filesystem::path& path);
    void take(ArrayFile file);
    void read_metadata();

    std::string source_;
    std::size_t graph_ = 0;
    std::map<std::string, std::string, std::less<>> metadata_;
    bool complete_ = true;
    std::vector<NamedArray> tensors_;
    std::map<std::string, std::size_t, std::less<>> places_;  ///< in `tensors_`, by name
    std::vector<std::uint64_t> begins_;                       ///< place of each tensor in the file
    std::unique_ptr<InputFile> input_;                        ///< null if the values are in `whole_`
    std::vector<NamedArray> whole_;
    std::vector<RecordedStep> parts_;  ///< of processes whose tensors are joined; empty if there is one process
    std::vector<Joint> joints_;        ///< of each tensor, if there are parts
};

}  // namespace attn::recording
