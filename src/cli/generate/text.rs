//! Text as ids and back, by a `tokenizer.json`.

use tokenizers::Tokenizer;

use crate::cli::check::given::Lack;

pub struct Words {
    file: String,
    tokenizer: Tokenizer,
}

impl Words {
    /// Reads a tokenizer.
    ///
    /// # Errors
    /// There is no such file, or it holds no tokenizer.
    pub fn open(file: &str) -> Result<Words, Lack> {
        let bytes =
            std::fs::read(file).map_err(|e| Lack::File(format!("cannot read `{file}`: {e}")))?;
        let tokenizer = Tokenizer::from_bytes(bytes)
            .map_err(|e| Lack::Content(format!("`{file}` is no tokenizer: {e}")))?;
        Ok(Words { file: file.into(), tokenizer })
    }

    /// The ids of a text, with those that the tokenizer itself puts around one.
    ///
    /// # Errors
    /// The tokenizer has none.
    pub fn ids(&self, text: &str) -> Result<Vec<u32>, Lack> {
        let found = self.tokenizer.encode(text, true);
        let ids = found.map_err(|e| self.fails(&e.to_string()))?.get_ids().to_vec();
        if ids.is_empty() { Err(self.fails("the text has no tokens")) } else { Ok(ids) }
    }

    /// The text of ids; special ones are left out.
    ///
    /// # Errors
    /// The tokenizer has no text for them.
    pub fn text(&self, ids: &[i64]) -> Result<String, Lack> {
        let known = |i: &i64| {
            u32::try_from(*i).map_err(|_| self.fails(&format!("it has no token of the id {i}")))
        };
        let ids: Vec<u32> = ids.iter().map(known).collect::<Result<_, _>>()?;
        self.tokenizer.decode(&ids, true).map_err(|e| self.fails(&e.to_string()))
    }

    fn fails(&self, why: &str) -> Lack {
        Lack::Content(format!("`{}`: {why}", self.file))
    }
}
