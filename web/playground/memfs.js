// The files of a worker, in memory: the functions of Node's fs that Go's package os calls. Importing
// this module defines globalThis.fs, path and process, which wasm_exec.js reads.

const kinds = { dir: 0o040000, file: 0o100000, pipe: 0o010000 };
const constants = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };

// cwd is the directory of the page's files.
export const cwd = "/playground";

// fail returns the error of a function with one of Go's codes.
function fail(code) {
  return Object.assign(new Error(code), { code });
}

let inodes = 0;
function node(kind, mode) {
  return { kind, mode, ino: ++inodes, time: Date.now(), data: new Uint8Array(0), size: 0, names: kind === kinds.dir ? new Map() : undefined };
}

const root = node(kinds.dir, 0o755);
const open = new Map(); // the open files by their descriptor
let last = 2;

function resolve(...parts) {
  const out = [];
  let text = "";
  for (const p of parts) text = p.startsWith("/") ? p : `${text}/${p}`;
  if (!text.startsWith("/") || !parts.some((p) => p.startsWith("/"))) text = `${cwd}/${text}`;
  for (const name of text.split("/")) {
    if (name === "..") out.pop();
    else if (name !== "" && name !== ".") out.push(name);
  }
  return `/${out.join("/")}`;
}

// find returns the node of a path, or undefined. It throws if a part of the path is no directory.
function find(path) {
  let at = root;
  for (const name of resolve(path).split("/").filter(Boolean)) {
    if (at.kind !== kinds.dir) throw fail("ENOTDIR");
    at = at.names.get(name);
    if (!at) return undefined;
  }
  if (at.kind !== kinds.dir && path.endsWith("/")) throw fail("ENOTDIR");
  return at;
}

function need(path) {
  const n = find(path);
  if (!n) throw fail("ENOENT");
  return n;
}

// parent returns the directory of a path, and the path's last name.
function parent(path) {
  const whole = resolve(path);
  const at = whole.lastIndexOf("/");
  const dir = need(whole.slice(0, at) || "/");
  if (dir.kind !== kinds.dir) throw fail("ENOTDIR");
  return { dir, name: whole.slice(at + 1) };
}

function stat(n) {
  return {
    dev: 1, ino: n.ino, mode: n.kind | n.mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size: n.size, blksize: 4096, blocks: Math.ceil(n.size / 512),
    atimeMs: n.time, mtimeMs: n.time, ctimeMs: n.time, isDirectory: () => n.kind === kinds.dir,
  };
}

function descriptor(fd) {
  const f = open.get(fd);
  if (!f) throw fail("EBADF");
  return f;
}

function resize(n, size) {
  if (size > n.data.length) {
    const grown = new Uint8Array(Math.max(size, 2 * n.data.length));
    grown.set(n.data.subarray(0, n.size));
    n.data = grown;
  } else if (size < n.size) {
    n.data.fill(0, size, n.size);
  }
  n.size = size;
  n.time = Date.now();
}

// zones is the path of the archive of time zones, which is fetched when a program needs one: most
// do not, and it is large.
export const zones = "/zoneinfo.zip";
let archive;

function zoneArchive() {
  if (!archive) {
    let data;
    try {
      data = globalThis.concertoFile("zoneinfo.zip");
    } catch {
      throw fail("EIO");
    }
    archive = { ...node(kinds.file, 0o444), data, size: data.length };
  }
  return archive;
}

let changed = () => {};

// onChange calls f after each change of a file or directory.
export function onChange(f) {
  changed = f;
}

const calls = {
  open(path, flags, mode) {
    let n = path === zones ? zoneArchive() : find(path);
    if (n && flags & constants.O_CREAT && flags & constants.O_EXCL) throw fail("EEXIST");
    if (!n) {
      if (!(flags & constants.O_CREAT)) throw fail("ENOENT");
      const { dir, name } = parent(path);
      n = node(kinds.file, mode & 0o777 & ~0o022);
      dir.names.set(name, n);
      changed();
    }
    const writes = (flags & 3) !== 0;
    if (n.kind === kinds.dir && writes) throw fail("EISDIR");
    if (n.kind !== kinds.dir && flags & constants.O_DIRECTORY) throw fail("ENOTDIR");
    if (flags & constants.O_TRUNC && writes && n.kind === kinds.file) {
      resize(n, 0);
      changed();
    }
    open.set(++last, { n, flags, at: 0 });
    return last;
  },
  close(fd) {
    descriptor(fd);
    open.delete(fd);
  },
  read(fd, buffer, offset, length, position) {
    const f = descriptor(fd);
    if (f.n.kind === kinds.dir) throw fail("EISDIR");
    const from = position ?? f.at;
    const part = f.n.data.subarray(from, Math.min(from + length, f.n.size));
    buffer.set(part, offset);
    if (position === null || position === undefined) f.at += part.length;
    return part.length;
  },
  write(fd, buffer, offset, length, position) {
    if (fd <= 2) {
      fs.writeSync(fd, buffer.subarray(offset, offset + length));
      return length;
    }
    const f = descriptor(fd);
    const from = f.flags & constants.O_APPEND ? f.n.size : (position ?? f.at);
    if (from + length > f.n.size) resize(f.n, from + length);
    f.n.data.set(buffer.subarray(offset, offset + length), from);
    f.n.time = Date.now();
    if (position === null || position === undefined) f.at = from + length;
    changed();
    return length;
  },
  fstat: (fd) => (fd <= 2 ? stat(node(kinds.pipe, 0o600)) : stat(descriptor(fd).n)),
  stat: (path) => stat(need(path)),
  lstat: (path) => stat(need(path)),
  readdir(path) {
    const n = need(path);
    if (n.kind !== kinds.dir) throw fail("ENOTDIR");
    return [...n.names.keys()].sort();
  },
  mkdir(path, mode) {
    if (find(path)) throw fail("EEXIST");
    const { dir, name } = parent(path);
    dir.names.set(name, node(kinds.dir, mode & 0o777 & ~0o022));
    changed();
  },
  rmdir(path) {
    const n = need(path);
    if (n.kind !== kinds.dir) throw fail("ENOTDIR");
    if (n.names.size > 0) throw fail("ENOTEMPTY");
    const { dir, name } = parent(path);
    dir.names.delete(name);
    changed();
  },
  unlink(path) {
    if (need(path).kind === kinds.dir) throw fail("EISDIR");
    const { dir, name } = parent(path);
    dir.names.delete(name);
    changed();
  },
  rename(from, to) {
    const n = need(from);
    const target = find(to);
    if (target === n) return;
    if (target?.kind === kinds.dir) throw fail(n.kind !== kinds.dir ? "EISDIR" : target.names.size > 0 ? "ENOTEMPTY" : "EEXIST");
    if (target && n.kind === kinds.dir) throw fail("ENOTDIR");
    if (n.kind === kinds.dir && `${resolve(to)}/`.startsWith(`${resolve(from)}/`)) throw fail("EINVAL");
    const source = parent(from);
    const { dir, name } = parent(to);
    source.dir.names.delete(source.name);
    dir.names.set(name, n);
    changed();
  },
  truncate(path, length) {
    resize(need(path), length);
    changed();
  },
  ftruncate(fd, length) {
    resize(descriptor(fd).n, length);
    changed();
  },
  utimes(path, _, modified) {
    need(path).time = modified * 1000;
  },
  chmod(path, mode) {
    need(path).mode = mode & 0o777;
  },
  fchmod(fd, mode) {
    descriptor(fd).n.mode = mode & 0o777;
  },
  chown() {}, fchown() {}, lchown() {}, fsync() {},
  readlink(path) {
    need(path);
    throw fail("EINVAL");
  },
  link() {
    throw fail("EPERM");
  },
  symlink() {
    throw fail("EPERM");
  },
};

let texts = ["", "", ""];
const decoder = new TextDecoder();

const fs = {
  constants,
  // The runtime of Go writes the reason of a crash here.
  writeSync(fd, bytes) {
    texts[fd] = (texts[fd] ?? "") + decoder.decode(bytes);
    return bytes.length;
  },
};
for (const [name, f] of Object.entries(calls)) {
  fs[name] = (...args) => {
    const done = args.pop();
    let result;
    try {
      result = f(...args);
    } catch (e) {
      if (!e.code) throw e;
      done(e);
      return;
    }
    done(null, result);
  };
}

// crash returns what the runtime of Go has written.
export const crash = () => texts.join("");

// put writes the page's files into the working directory, which contains no other files then.
export function put(files) {
  root.names.clear();
  for (const dir of [cwd, "/tmp"]) calls.mkdir(dir, 0o777);
  const encoder = new TextEncoder();
  for (const [name, text] of Object.entries(files)) {
    const parts = name.split("/");
    for (let i = 1; i < parts.length; i++) {
      const dir = `${cwd}/${parts.slice(0, i).join("/")}`;
      if (!find(dir)) calls.mkdir(dir, 0o755);
    }
    const data = encoder.encode(text);
    const fd = calls.open(`${cwd}/${name}`, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o644);
    calls.write(fd, data, 0, data.length, 0);
    calls.close(fd);
  }
}

// list returns the files below the working directory: {NAME: TEXT}. A file that is no text has null.
export function list() {
  const out = {};
  const strict = new TextDecoder("utf-8", { fatal: true });
  const walk = (n, prefix) => {
    for (const [name, x] of n.names) {
      if (x.kind === kinds.dir) walk(x, `${prefix}${name}/`);
      else {
        try {
          out[prefix + name] = strict.decode(x.data.subarray(0, x.size));
        } catch {
          out[prefix + name] = null;
        }
      }
    }
  };
  walk(find(cwd), "");
  return out;
}

globalThis.fs = fs;
globalThis.path = { resolve };
globalThis.process = {
  getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [], pid: 1, ppid: 0, umask: () => 0o022, cwd: () => cwd,
  chdir() {
    throw fail("ENOSYS");
  },
};
put({});
