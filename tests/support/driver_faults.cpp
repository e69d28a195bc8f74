/// In programs that draw, under the sanitizers: what the graphics driver never frees, and what its own threads do with locks that it has
/// destroyed, is no fault of ours.

extern "C" {

const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() { return "leak:_dri.so\nleak:libgallium\nleak:libLLVM\nleak:libGLX_\nleak:libEGL_\n"; }

const char* __tsan_default_suppressions();
const char* __tsan_default_suppressions() { return "race:_dri.so\nrace:libgallium\nrace:libLLVM\n"; }

/// A fault is known by the library that is at its end, so every library stays loaded until the end.
int dlclose(void*) noexcept;
int dlclose(void*) noexcept { return 0; }
}
