//! `--emit hir`.
