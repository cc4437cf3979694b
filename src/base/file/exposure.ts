import type { Stats } from "node:fs";
import fs from "node:fs";
import os from "node:os";
import paths from "node:path";

const ROOT = 0;

/** Permission bits: read and write for everyone and for the group, and the sticky bit of folders. */
const ALL_READ = 0o004;
const GROUP_READ = 0o040;
const ALL_WRITE = 0o002;
const GROUP_WRITE = 0o020;
const STICKY = 0o1000;

/** Returns the user whose files are trusted in addition to root's. */
export function currentUser(): number | undefined {
  return process.geteuid?.();
}

/** Finds out whether someone other than the user and root can change a file. */
export function exposure(
  subject: string,
  { uid, gid, mode }: Pick<Stats, "uid" | "gid" | "mode">,
  user: number,
): string | undefined {
  if (uid !== user && uid !== ROOT) {
    return `another user (uid ${uid}) owns ${subject}`;
  }
  const octal = `mode ${(mode & 0o777).toString(8)}`;
  if ((mode & ALL_WRITE) !== 0) {
    return `everyone can write to ${subject} (${octal})`;
  }
  return (mode & GROUP_WRITE) !== 0 && !isPrivateGroup(gid, user)
    ? `the group ${gid} can write to ${subject} (${octal})`
    : undefined;
}

/** Finds out whether someone other than the user and root can read a file of the user. */
export function readExposure(
  subject: string,
  { uid, gid, mode }: Pick<Stats, "uid" | "gid" | "mode">,
  user: number,
): string | undefined {
  const octal = `mode ${(mode & 0o777).toString(8)}`;
  if (uid !== user) {
    return undefined;
  }
  if ((mode & ALL_READ) !== 0) {
    return `everyone can read ${subject} (${octal})`;
  }
  return (mode & GROUP_READ) !== 0 && !isPrivateGroup(gid, user)
    ? `the group ${gid} can read ${subject} (${octal})`
    : undefined;
}

/**
 * Finds out whether someone other than the user and root can change or replace a file: the file itself, a link to it, or a
 * folder above either.
 */
export function fileExposure(path: string, stats: Stats): string | undefined {
  const user = currentUser();
  return user === undefined
    ? undefined
    : (exposure("it", stats, user) ?? entryExposure(path, user, "the link to it") ?? pathExposure(path, user));
}

/**
 * Finds out whether someone other than the user and root can put another entry in the place of one in a folder. In a
 * sticky folder, such as /tmp, only the owner of an entry can.
 */
function folderExposure(folder: string, user: number, subject: string): string | undefined {
  const stats = fs.statSync(folder);
  const isSticky = (stats.mode & STICKY) !== 0;
  return exposure(subject, isSticky ? { ...stats, mode: 0 } : stats, user);
}

/**
 * Finds out whether someone other than the user and root owns an entry itself: for a symbolic link the link, not what it
 * points to.
 *
 * @throws the error of Node if the entry does not exist
 */
export function entryExposure(path: string, user: number, subject: string): string | undefined {
  return exposure(subject, { ...fs.lstatSync(path), mode: 0 }, user);
}

/**
 * Finds out whether someone other than the user and root can replace a path, through any folder above it.
 *
 * The rule is that of `safe_path` in OpenSSH's misc.c, which `auth_secure_path` and `StrictModes` use: the user or root
 * owns each folder up to the user's home or to `/`, and neither group nor others can write to it. Two differences: as in
 * Debian's OpenSSH (user-group-modes.patch), the user's private group may write; and a sticky folder, such as /tmp, is
 * accepted if the entry below it is owned by the user or root. The folders of a symbolic link count too.
 *
 * @throws the error of Node if a folder does not exist
 */
export function pathExposure(path: string, user: number): string | undefined {
  const named = paths.resolve(path);
  const home = homeOf(user);
  const folders = new Set([...foldersAbove(named, home), ...foldersAbove(realPathOf(named), home)]);
  for (const folder of folders) {
    const subject = `the folder ${JSON.stringify(folder)}`;
    const found = entryExposure(folder, user, subject) ?? folderExposure(folder, user, subject);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

/** The folders above a path, up to the home folder if the path is in it, otherwise up to the root. */
function foldersAbove(path: string, home: string | undefined): string[] {
  const folders = [paths.dirname(path)];
  for (
    let folder = paths.dirname(path);
    folder !== home && folder !== paths.dirname(folder);
    folder = paths.dirname(folder)
  ) {
    folders.push(paths.dirname(folder));
  }
  return folders;
}

/** The path without symbolic links; that of the folder if the entry does not exist yet. */
function realPathOf(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return paths.resolve(fs.realpathSync(paths.dirname(path)), "new");
  }
}

/** The user's home from the system's database, as in OpenSSH: `HOME` can be set by anyone who starts the process. */
function homeOf(user: number): string | undefined {
  try {
    const { uid, homedir } = os.userInfo();
    return uid === user ? fs.realpathSync(homedir) : undefined;
  } catch {
    return undefined; // In containers, a user id may have no entry.
  }
}

/**
 * Whether a group is the user's private group: the primary group of this user alone, with the user's name and without
 * further members, as Debian and Fedora create them. Groups that /etc does not list, such as those of a directory
 * service, are not known to be private.
 */
function isPrivateGroup(gid: number, user: number): boolean {
  try {
    const users = entriesOf("/etc/passwd");
    const group = entriesOf("/etc/group").find(([, , id]) => id === String(gid));
    const primary = users.filter(([, , , id]) => id === String(gid));
    const [name] = primary[0] ?? [];
    return (
      user !== ROOT &&
      name !== undefined &&
      primary.every(([, , id]) => id === String(user)) &&
      group?.[0] === name &&
      [name, ""].includes(group[3] ?? "")
    );
  } catch {
    return false;
  }
}

function entriesOf(path: string): string[][] {
  return fs
    .readFileSync(path, "utf8")
    .split("\n")
    .map((line) => line.split(":"));
}
