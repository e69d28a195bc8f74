#pragma once
/// Golden folders of published models that a test may change.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "engine/families/model_folder.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/tensor/error.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::test {

inline const std::filesystem::path kModelFolders = std::filesystem::path(ATTN_TEST_DATA) / "golden/hf";

/// A modifiable copy of a golden folder.
class Copied {
public:
    explicit Copied(const std::string& name = "gpt2") {
        for (const auto& entry : std::filesystem::directory_iterator(kModelFolders / name)) {
            put_file(path() / entry.path().filename(), file_bytes(entry.path()));
        }
    }
    std::filesystem::path path() const { return folder_.path(); }
    void replace(const std::string& file, const std::string& what, const std::string& by) const {
        std::string text = file_bytes(path() / file);
        const std::size_t at = text.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        put_file(path() / file, text.replace(at, what.size(), by));
    }
    void change_tensors(const std::function<void(ArrayFile&)>& change, const std::string& file = "model.safetensors") const {
        ArrayFile tensors = read_safetensors(path() / file);
        change(tensors);
        write_safetensors(path() / file, tensors);
    }
    std::string refusal() const {
        try {
            open_model_folder(path());
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    }

private:
    TemporaryFolder folder_;
};

inline NamedArray& tensor_named(ArrayFile& file, std::string_view name) {
    for (NamedArray& array : file.arrays)
        if (array.name == name) return array;
    throw Error("no tensor " + std::string(name));
}

inline void add_to_element(NamedArray& array, std::size_t element, float by) {
    float value = 0;
    std::memcpy(&value, array.bytes.data() + element * sizeof value, sizeof value);
    value += by;
    std::memcpy(array.bytes.data() + element * sizeof value, &value, sizeof value);
}

}  // namespace attn::test
