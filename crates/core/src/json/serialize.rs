//! Any serializable value as JSON, byte for byte what `serde_json` writes. For what is written with every event: the
//! answer to a hook, the steps of the stream, the agents' documents.

use crate::json::quote;
use serde::Serialize;
use serde::ser::{self, Error as _};
use serde_json::{Error, Number};

/// An answer or a step of the stream; growing to it costs as much as writing it.
const USUAL_LENGTH: usize = 256;

/// The JSON of `value`. Fails as `serde_json::to_string` does: if a type refuses, or for a key that is not a string.
pub fn to_text<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut out = String::with_capacity(USUAL_LENGTH);
    append(&mut out, value)?;
    Ok(out)
}

/// Appends the JSON of `value`. After a failure, a part of it may be there.
pub fn append<T: Serialize + ?Sized>(out: &mut String, value: &T) -> Result<(), Error> {
    value.serialize(Writer { out, raw: false })
}

struct Writer<'a> {
    out: &'a mut String,
    /// A text is JSON already.
    raw: bool,
}

/// The name under which `serde_json` passes text that is JSON already.
const RAW: &str = "$serde_json::private::RawValue";

/// An array or an object whose items follow.
struct Items<'a> {
    out: &'a mut String,
    /// What comes before the next item.
    separator: char,
    end: &'static str,
    /// The only item is JSON already.
    raw: bool,
}

impl<'a> Writer<'a> {
    fn word(self, word: &str) -> Result<(), Error> {
        self.out.push_str(word);
        Ok(())
    }

    /// A number of at most 64 bits has at most 20 digits.
    fn digits(self, mut number: u64, negative: bool) -> Result<(), Error> {
        let mut digits = [0; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        if negative {
            self.out.push('-');
        }
        self.word(std::str::from_utf8(&digits[start..]).unwrap_or_default())
    }

    fn items(self, start: char, end: &'static str) -> Items<'a> {
        Items { out: self.out, separator: start, end, raw: false }
    }

    /// `{"Variant":`, which is closed by what follows.
    fn variant(self, variant: &str) -> Writer<'a> {
        self.out.push('{');
        quote(self.out, variant);
        self.out.push(':');
        self
    }
}

impl Items<'_> {
    // What does not depend on the value's type is compiled once.
    #[inline(never)]
    fn separate(&mut self) {
        self.out.push(self.separator);
        self.separator = ',';
    }

    #[inline(never)]
    fn key(&mut self, key: &str) {
        if self.raw {
            return;
        }
        self.separate();
        quote(self.out, key);
        self.out.push(':');
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        append(self.out, value)
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        self.key(key);
        value.serialize(Writer { out: self.out, raw: self.raw })
    }

    #[inline(never)]
    fn end(self) -> Result<(), Error> {
        if self.raw {
            return Ok(());
        }
        // Nothing has been written of an empty one.
        if matches!(self.separator, '[' | '{') {
            self.out.push(self.separator);
        }
        self.out.push_str(self.end);
        Ok(())
    }
}

macro_rules! numbers {
    ($($method:ident $type:ty),+) => {
        $(fn $method(self, number: $type) -> Result<(), Error> {
            self.digits(number.unsigned_abs().into(), number < 0)
        })+
    };
}

macro_rules! counts {
    ($($method:ident $type:ty),+) => {
        $(fn $method(self, number: $type) -> Result<(), Error> {
            self.digits(number.into(), false)
        })+
    };
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Items<'a>;
    type SerializeStruct = Items<'a>;
    type SerializeStructVariant = Items<'a>;

    numbers!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64);
    counts!(serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64);

    fn serialize_i128(self, number: i128) -> Result<(), Error> {
        self.word(&number.to_string())
    }

    fn serialize_u128(self, number: u128) -> Result<(), Error> {
        self.word(&number.to_string())
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.word(if value { "true" } else { "false" })
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        // Not by way of f64: 0.1 would get more digits.
        match serde_json::to_string(&value) {
            Ok(text) => self.word(&text),
            Err(error) => Err(error),
        }
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        match Number::from_f64(value) {
            Some(number) => self.word(&number.to_string()),
            None => self.word("null"),
        }
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        if self.raw {
            return self.word(value);
        }
        quote(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        bytes.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.word("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.word("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.word("null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let writer = self.variant(variant);
        append(writer.out, value)?;
        writer.word("}")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, Error> {
        Ok(self.items('[', "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>, Error> {
        Ok(self.items('[', "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a>, Error> {
        Ok(self.items('[', "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Error> {
        Ok(self.variant(variant).items('[', "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'a>, Error> {
        Ok(self.items('{', "}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Items<'a>, Error> {
        Ok(Items { raw: name == RAW, ..self.items('{', "}") })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a>, Error> {
        Ok(self.variant(variant).items('{', "}}"))
    }
}

/// The four kinds of sequences.
macro_rules! sequences {
    ($($kind:ident $method:ident),+) => {
        $(impl ser::$kind for Items<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                Items::end(self)
            }
        })+
    };
}

sequences!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

/// The two kinds of structs.
macro_rules! structs {
    ($($kind:ident),+) => {
        $(impl ser::$kind for Items<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), Error> {
                Items::end(self)
            }
        })+
    };
}

structs!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        let start = self.out.len();
        append(self.out, key)?;
        match self.out.as_bytes()[start] {
            b'"' => {}
            // Numbers and truth values become strings.
            b'0'..=b'9' | b'-' | b't' | b'f' => {
                self.out.insert(start, '"');
                self.out.push('"');
            }
            _ => return Err(Error::custom("key must be a string")),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.push(':');
        append(self.out, value)
    }

    fn end(self) -> Result<(), Error> {
        Items::end(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::any_json;
    use proptest::prelude::*;
    use serde_json::value::RawValue;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    enum Shape {
        Unit,
        Newtype(Option<u8>),
        Tuple(i8, &'static str),
        Struct { a: Vec<u8>, b: () },
    }

    #[derive(Serialize)]
    struct Empty {}

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Pair(bool, char);

    #[derive(Serialize)]
    struct Wrapped(f32);

    fn same<T: Serialize + ?Sized>(value: &T) {
        assert_eq!(to_text(value).unwrap(), serde_json::to_string(value).unwrap());
    }

    #[test]
    fn every_kind_of_value_is_written_as_serde_json_writes_it() {
        same(&[Shape::Unit, Shape::Newtype(None), Shape::Newtype(Some(7)), Shape::Tuple(-8, "\"x\"\n")]);
        same(&Shape::Struct { a: vec![0, 255], b: () });
        same(&Shape::Struct { a: vec![], b: () });
        same(&(Empty {}, Unit, Pair(true, 'ü'), Wrapped(0.1), "", None::<u8>));
        same(&[f64::MAX, f64::MIN_POSITIVE, 0.1, -0.0, 1e21, f64::NAN, f64::INFINITY]);
        same(&(u64::MAX, i64::MIN, u128::MAX, i128::MIN, 0, i8::MIN));
        same(&BTreeMap::from([(1, "a"), (-2, "b")]));
        same(&BTreeMap::from([(true, "a")]));
        same(&BTreeMap::from([('"', "a")]));
        same(&BTreeMap::<&str, u8>::new());
        same(&vec![Vec::<u8>::new(), vec![1, 2]]);
        same(&RawValue::from_string("{\"raw\": [1]}".into()).unwrap());
    }

    #[test]
    fn a_key_that_is_not_a_string_is_refused() {
        let list = BTreeMap::from([(vec![1], 1)]);
        assert_eq!(
            to_text(&list).unwrap_err().to_string(),
            serde_json::to_string(&list).unwrap_err().to_string()
        );
        assert!(to_text(&BTreeMap::from([(None::<u8>, 1)])).is_err());
    }

    proptest! {
        #[test]
        fn any_json_is_written_as_serde_json_writes_it(value in any_json()) {
            same(&value);
        }
    }
}
