# Sourced by the scripts beside it.

# enter_folder TOOL: goes into a new folder, which is removed at the end together with what runs in the background, puts the
# tool on the path as `cinnabar`, and sets $work to the folder and $address to one of this machine that no other run uses.
enter_folder() {
    local tool
    tool=$(realpath "$1")
    work=$(mktemp -d)
    trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
    cd "$work"
    mkdir bin
    ln -s "$tool" bin/cinnabar
    PATH=$work/bin:$PATH
    address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).1  # all of 127/8 is this machine
}
